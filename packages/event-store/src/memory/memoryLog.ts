/** A log in memory, shared by one or more memory stores as processes share a database. */
import { LogRewrittenError, WrongExpectedRevisionError } from '../errors.ts';
import type { AppendRequest, AppendResult, Position, RecordedEvent } from '../port.ts';

export interface MemoryLog {
  /** All events: the one at position n has index n - 1. */
  readonly events: readonly RecordedEvent[];
  stream(name: string): readonly RecordedEvent[];
  /** Appends by the rules of `testing/appendRules.ts`. */
  append(request: AppendRequest): AppendResult;
  /** Truncates the log to its first events, as restoring an old backup does. */
  rewindTo(length: number): void;
  /** Resolves at the next change of the log. */
  changed(): Promise<void>;
}

export function createMemoryLog(): MemoryLog {
  const events: RecordedEvent[] = [];
  const streams = new Map<string, RecordedEvent[]>();
  let change = Promise.withResolvers<void>();

  const notify = (): void => {
    const { resolve } = change;
    change = Promise.withResolvers<void>();
    resolve();
  };
  const stream = (name: string): readonly RecordedEvent[] => streams.get(name) ?? [];
  const add = (event: RecordedEvent): void => {
    events.push(event);
    const existing = streams.get(event.stream);
    if (existing) existing.push(event);
    else streams.set(event.stream, [event]);
  };

  return {
    events,
    stream,
    append(request) {
      const existing = stream(request.stream);
      const found = findAppended(existing, request);
      if (found) return { revision: found.revision, position: found.position, alreadyAppended: true };

      refuseWrongRevision(existing, request);
      const recordedAt = new Date();
      let revision = existing.length - 1;
      for (const { id, type, data, metadata } of request.events) {
        revision += 1;
        add({
          id: id.toLowerCase(),
          type,
          data,
          metadata,
          stream: request.stream,
          revision,
          position: positionOf(events.length + 1),
          recordedAt,
        });
      }
      notify();
      return { revision, position: positionOf(events.length), alreadyAppended: false };
    },
    rewindTo(length) {
      const kept = events.slice(0, length);
      events.length = 0;
      streams.clear();
      kept.forEach(add);
      notify();
    },
    changed: () => change.promise,
  };
}

// A position is a number in decimal.
const positionOf = (number: number) => `${number}` as Position;

/** The last of the request's events, if all of them are where a retry would find them. */
function findAppended(
  existing: readonly RecordedEvent[],
  { stream, expectedRevision, events }: AppendRequest,
): RecordedEvent | undefined {
  if (expectedRevision === 'any' || expectedRevision === 'streamExists') {
    const known = events.map(({ id }) => existing.findLast((event) => event.id === id.toLowerCase()));
    if (known[0] === undefined) return undefined;
    if (known.includes(undefined)) {
      throw new WrongExpectedRevisionError(stream, expectedRevision, existing.at(-1)?.revision);
    }
    return known.at(-1);
  }
  const first = expectedRevision === 'noStream' ? 0 : expectedRevision + 1;
  // At the current revision ids are not compared: nothing follows it yet.
  const isThere = events.every(({ id }, index) => existing[first + index]?.id === id.toLowerCase());
  return isThere ? existing[first + events.length - 1] : undefined;
}

function refuseWrongRevision(
  existing: readonly RecordedEvent[],
  { stream, expectedRevision, expectedLastEventId }: AppendRequest,
): void {
  const actual = existing.at(-1)?.revision;
  const isExpected =
    expectedRevision === 'any' ||
    (expectedRevision === 'noStream' && actual === undefined) ||
    (expectedRevision === 'streamExists' && actual !== undefined) ||
    expectedRevision === actual;
  if (!isExpected) throw new WrongExpectedRevisionError(stream, expectedRevision, actual);
  if (expectedLastEventId !== undefined && existing.at(-1)?.id !== expectedLastEventId.toLowerCase()) {
    throw new LogRewrittenError(
      `Stream ${stream} holds a different event at ${actual} than was read from it.`,
    );
  }
}
