/**
 * A process that writes to the log as fast as it can: many lanes, each one append at a time, alternating between a
 * private stream and one that all writers compete for. It reports each attempt to its parent before sending it, and
 * each acknowledgement, so that whoever kills it knows what was acknowledged.
 *
 * Started by writers.ts. Ends when each lane has `appendsPerLane` acknowledgements, or when told to stop.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { OutcomeUnknownError, StoreUnreachableError, WrongExpectedRevisionError } from '../errors.ts';
import type { AppendRequest, AppendResult, EventToAppend, ExpectedRevision } from '../port.ts';
import { createPostgresEventStore } from '../postgres/postgresEventStore.ts';

export interface WriterOptions {
  readonly connectionString: string;
  /** Part of the names of its streams and connections. */
  readonly name: string;
  readonly lanes: number;
  readonly appendsPerLane: number;
}

export type WriterReport =
  | { readonly kind: 'attempt'; readonly lane: number; readonly request: AppendRequest }
  | { readonly kind: 'acknowledged'; readonly lane: number; readonly result: AppendResult };

/** The pause between attempts while a server restarts. */
const RETRY_MS = 20;

const options: WriterOptions = JSON.parse(process.argv[2] ?? '{}');
const { connectionString, name, lanes, appendsPerLane } = options;
const store = createPostgresEventStore({ connectionString, applicationName: name });
let stopping = false;
process.once('message', () => {
  stopping = true;
});
// Without a parent there is nobody to write for.
process.once('disconnect', () => process.exit());

await Promise.all(Array.from({ length: lanes }, (_, lane) => write(lane)));
await store.close();
process.disconnect();

async function write(lane: number): Promise<void> {
  const own = { stream: `own-spec.${name}.${lane}`, last: -1 };
  const shared = { stream: `shared-spec.all.${lane}`, last: -1 };
  for (let append = 0; append < appendsPerLane && !stopping; append++) {
    const target = append % 2 === 0 ? own : shared;
    const events = Array.from({ length: 1 + (append % 3) }, newEvent);
    const result = await appendUntilAcknowledged(lane, target, events);
    target.last = result.revision;
    await report({ kind: 'acknowledged', lane, result });
  }
}

/** The same events at the same revision until the outcome is known; at the actual one after a conflict. */
async function appendUntilAcknowledged(
  lane: number,
  { stream, last }: { readonly stream: string; readonly last: number },
  events: readonly EventToAppend[],
): Promise<AppendResult> {
  let expectedRevision = expectedAfter(last);
  await report({ kind: 'attempt', lane, request: { stream, expectedRevision, events } });
  for (;;) {
    try {
      return await store.append({ stream, expectedRevision, events });
    } catch (error) {
      if (error instanceof WrongExpectedRevisionError) {
        expectedRevision = expectedAfter(error.actual ?? -1);
        await report({ kind: 'attempt', lane, request: { stream, expectedRevision, events } });
      } else if (error instanceof OutcomeUnknownError || error instanceof StoreUnreachableError) {
        await delay(RETRY_MS);
      } else throw error;
    }
  }
}

function expectedAfter(revision: number): ExpectedRevision {
  return revision < 0 ? 'noStream' : revision;
}

function newEvent(): EventToAppend {
  return { id: randomUUID(), type: 'Written', data: JSON.stringify({ by: name }), metadata: '{}' };
}

/** Resolves when the parent will read it, even if this process is killed right then. */
function report(message: WriterReport): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(message, (error: Error | null) => (error ? reject(error) : resolve()));
  });
}
