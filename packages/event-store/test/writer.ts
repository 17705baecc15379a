/**
 * A process that appends to its streams as fast as it can and tells its parent of each attempt before and after
 * it. What is unknown or unreachable is sent again, the same request; started by `writers.ts`.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { OutcomeUnknownError, StoreUnreachableError, WrongExpectedRevisionError } from '../src/errors.ts';
import type { AppendRequest, AppendResult } from '../src/port.ts';
import { createPostgresEventStore } from '../src/postgres/index.ts';
import type { WriterMessage, WriterTask } from './writers.ts';

const RETRY_DELAY_MS = 20;

let isStopping = false;
process.once('disconnect', () => process.exit());
process.on('message', (message: WriterTask | 'stop') => {
  if (message === 'stop') isStopping = true;
  else void run(message);
});

async function run({ connectionString, ownStreams, sharedStreams }: WriterTask): Promise<void> {
  const store = createPostgresEventStore({ connectionString, applicationName: 'writer' });
  const write = async (stream: string, isShared: boolean) => {
    let revision = -1;
    for (let round = 0; !isStopping; round++) {
      const request: AppendRequest = {
        stream,
        expectedRevision: revision < 0 ? 'noStream' : revision,
        events: Array.from({ length: 1 + (round % 3) }, () => ({
          id: randomUUID(),
          type: 'Written',
          data: `{"round":${round}}`,
          metadata: '{}',
        })),
      };
      await tell({ kind: 'attempt', request });
      try {
        revision = (await appendUntilKnown(store.append, request)).revision;
        await tell({ kind: 'acknowledged', ids: request.events.map(({ id }) => id) });
      } catch (error) {
        if (!(isShared && error instanceof WrongExpectedRevisionError)) throw error;
        await tell({ kind: 'refused', ids: request.events.map(({ id }) => id) });
        revision = error.actual ?? -1;
      }
    }
  };
  try {
    await Promise.all([
      ...ownStreams.map((stream) => write(stream, false)),
      ...sharedStreams.map((stream) => write(stream, true)),
    ]);
    await store.close();
    await tell({ kind: 'finished' });
  } catch (error) {
    await tell({ kind: 'failed', reason: error instanceof Error ? `${error.stack}` : String(error) });
  }
}

async function appendUntilKnown(
  append: (request: AppendRequest) => Promise<AppendResult>,
  request: AppendRequest,
): Promise<AppendResult> {
  for (;;) {
    try {
      return await append(request);
    } catch (error) {
      if (!(error instanceof OutcomeUnknownError || error instanceof StoreUnreachableError)) throw error;
      await tell({ kind: 'retried', because: error.name });
      await delay(RETRY_DELAY_MS);
    }
  }
}

/** Resolves when the message is on its way: a parent knows of an attempt before the store does. */
function tell(message: WriterMessage): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(message, () => resolve());
  });
}
