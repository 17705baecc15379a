/** What the events of moves mean for players' accounts. */

import assert from 'node:assert/strict';
import type { StreamEvent } from '@coffer/event-store';
import type { AccountKey } from '@coffer/kernel';
import { type MoveEvent, moveEvents, parseMoveStream } from '@coffer/moves';

/** A move between a user's wallet and the treasury. */
export interface TreasuryMove {
  readonly account: AccountKey;
  readonly operation: 'deposit' | 'cashOut';
  readonly ref: string;
  readonly amount: bigint;
}

export interface EndOfMove extends TreasuryMove {
  /** If false, it has failed for good. */
  readonly isConfirmed: boolean;
}

/** The move of the treasury that the event requests; undefined for every other event. */
export function requestedIn(event: StreamEvent): TreasuryMove | undefined {
  const requested = decodedAs(event, 'MoveRequested');
  return requested && treasuryMove(event, requested.data);
}

/** The end of a move of the treasury; undefined for every other event. */
export function endOfMove(event: StreamEvent): EndOfMove | undefined {
  const end = decodedAs(event, 'MoveConfirmed') ?? decodedAs(event, 'MoveFailed');
  const move = end && treasuryMove(event, end.data);
  return move && { ...move, isConfirmed: end.type === 'MoveConfirmed' };
}

type DataOfMove = Extract<MoveEvent, { type: 'MoveRequested' | 'MoveConfirmed' | 'MoveFailed' }>['data'];
type MoveSubject = Pick<DataOfMove, 'operation' | 'key' | 'appId' | 'userId' | 'currencyId' | 'amount'>;

/** Undefined for moves from a user's wallet to elsewhere, which do not affect the books. */
function treasuryMove(
  { stream }: StreamEvent,
  { operation, key: ref, appId, userId, currencyId, amount }: MoveSubject,
): TreasuryMove | undefined {
  if (operation !== 'deposit' && operation !== 'cashOut') return undefined;
  const place = parseMoveStream(stream);
  assert(place && currencyId !== null, `${stream} is a move of a currency`);
  return { account: { environment: place.environment, appId, userId, currencyId }, operation, ref, amount };
}

/** Most events in the log have nothing to do with moves, so the type is checked before anything is decoded. */
function decodedAs<Type extends MoveEvent['type']>(event: StreamEvent, type: Type) {
  if (event.type !== type) return undefined;
  return moveEvents.decode(event) as Extract<MoveEvent, { type: Type }>;
}
