/** Which write of a play session an event records, for finding a uuid that was used in two sessions. */
import type { StreamEvent } from '@coffer/event-store';
import { type PlaySessionEvent, playSessionEvents } from './domain/playSession.events.ts';
import { playSessionPlace } from './sessionStreams.ts';

const WRITES: ReadonlySet<string> = new Set<PlaySessionEvent['type']>([
  'BetPlaced',
  'WinCredited',
  'BetRolledBack',
  'RollbackRemembered',
]);

export function transactionUseOf(recorded: StreamEvent) {
  if (!WRITES.has(recorded.type)) return undefined;
  const event = playSessionEvents.decode(recorded);
  if (!('transactionUuid' in event.data) || event.data.transactionUuid === undefined) return undefined;
  return { ...playSessionPlace(recorded.stream), transactionUuid: event.data.transactionUuid };
}
