/** The result of an append, including answers of the server that the store's port does not have. */

import {
  type AppendRequest,
  type EventStore,
  type Position,
  WrongExpectedRevisionError,
} from '@coffer/event-store';

export interface Appended {
  /** The last event's revision; undefined if there is no stream. */
  readonly revision: number | undefined;
  /** Undefined if nothing was written. */
  readonly position: Position | undefined;
}

type Store = Pick<EventStore, 'append' | 'heads' | 'readStream'>;

export async function carryOut(store: Store, request: AppendRequest): Promise<Appended> {
  if (request.events.length === 0) return nothingAppended(store, request);
  const { revision, position, alreadyAppended } = await store.append(request);
  const isWeak = request.expectedRevision === 'any' || request.expectedRevision === 'streamExists';
  const repeated = alreadyAppended && isWeak ? repeatsOfLast(request) : 0;
  if (repeated === 0) return { revision, position };

  // The server looks for the first occurrence of each id.
  const first = revision - repeated;
  for await (const [event] of store.readStream(request.stream, { fromRevision: first, limit: 1 })) {
    return { revision: first, position: event?.position };
  }
  return { revision, position };
}

/** How far before an append's last event its id first occurs. */
function repeatsOfLast({ events }: AppendRequest): number {
  const last = events.at(-1)?.id.toLowerCase();
  return events.length - 1 - events.findIndex(({ id }) => id.toLowerCase() === last);
}

/** An append without events is a query: whether the stream is at the expected revision. */
async function nothingAppended(store: Store, { stream, expectedRevision }: AppendRequest): Promise<Appended> {
  const [head] = await store.heads([stream]);
  const isExpected =
    expectedRevision === 'any' ||
    (expectedRevision === 'noStream' && head === undefined) ||
    (expectedRevision === 'streamExists' && head !== undefined) ||
    expectedRevision === head?.revision;
  if (!isExpected) throw new WrongExpectedRevisionError(stream, expectedRevision, head?.revision);
  return { revision: head?.revision, position: undefined };
}
