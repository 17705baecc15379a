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
  const transactionUuid = LEADING_UUID.exec(recorded.data)?.[1] ?? decodedUuid(recorded);
  if (transactionUuid === undefined) return undefined;
  return { ...playSessionPlace(recorded.stream), transactionUuid };
}

/** It is written first, so that for one text nothing else need be decoded. */
const LEADING_UUID = /^\{"transactionUuid":"([^"\\]+)"/;

function decodedUuid(recorded: StreamEvent): string | undefined {
  const { data } = playSessionEvents.decode(recorded);
  return 'transactionUuid' in data ? data.transactionUuid : undefined;
}
