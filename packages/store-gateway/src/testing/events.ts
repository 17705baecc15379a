/** Events that specs append, and what they compare in those they read. */
import {
  type AllStreamResolvedEvent,
  type JSONEventType,
  jsonEvent,
  type Position,
  type RecordedEvent,
  type ResolvedEvent,
} from '@eventstore/db-client';

export const happened = (what: unknown, id?: string) =>
  jsonEvent({ ...(id === undefined ? {} : { id }), type: 'Happened', data: { what: `${what}` } });

/** `numbers(3)` are 0, 1 and 2. */
export const numbers = (count: number, first = 0) =>
  Array.from({ length: count }, (_, index) => first + index);

export const happenedTimes = (count: number) => numbers(count).map((number) => happened(number));

export async function eventsOf(
  read: AsyncIterable<ResolvedEvent | AllStreamResolvedEvent>,
): Promise<RecordedEvent<JSONEventType>[]> {
  const events: RecordedEvent<JSONEventType>[] = [];
  for await (const { event } of read) if (event?.isJson) events.push(event);
  return events;
}

export const revisionsOf = (events: readonly { readonly revision: bigint }[]) =>
  events.map(({ revision }) => Number(revision));

/** The positions as numbers, which are the same in both halves of the pair. */
export const positionsOf = (events: readonly { readonly position?: Position | undefined }[]) =>
  events.map(({ position }) =>
    position?.commit === position?.prepare ? Number(position?.commit) : undefined,
  );

export const at = (position: number): Position => ({ commit: BigInt(position), prepare: BigInt(position) });
