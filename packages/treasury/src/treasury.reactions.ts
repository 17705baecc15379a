/**
 * What must follow from the hold of a cash-out, and from the end of a move, should whoever began it have died: the
 * hold process carries it out. Source: ADR 0006.
 */
import type { RecordedEvent } from '@coffer/event-store';
import { cashOutHoldId, depositEntryId, type PlayerAccount } from './funds.ts';
import { endOfMove, requestedIn } from './moveFacts.ts';
import type { Treasury } from './treasury.ts';

/** How long one attempt of the process may take; it tries again. */
const ACT_WITHIN_MS = 10_000;
/** No request waits for the end of a move: the process alone books it, and at once. */
const NOBODY_ELSE_MS = 0;
const deadline = () => performance.now() + ACT_WITHIN_MS;

export interface ReactionDependencies {
  /** The stream of a player's account. */
  readonly accountStreamOf: (account: PlayerAccount) => string;
  readonly carryOut: Treasury['carryOut'];
}

/** For holds of purpose `cashout`: the request of the move, which shows as `MoveRequested`. */
export function cashOutHoldAct({ accountStreamOf, carryOut }: ReactionDependencies) {
  return {
    holdOf(event: RecordedEvent) {
      const move = requestedIn(event);
      if (move?.operation !== 'cashOut') return undefined;
      return { account: accountStreamOf(move.account), holdId: cashOutHoldId(move.ref) };
    },
    act: (held: RecordedEvent) => carryOut.cashOut(held, deadline()),
  };
}

/** What the ends of moves owe to accounts: a confirmed deposit is credited, the hold of a cash-out is closed. */
export function treasuryDues({ accountStreamOf, carryOut }: ReactionDependencies) {
  const act = (cause: RecordedEvent) => carryOut.book(cause, deadline());
  return [
    {
      name: 'creditDeposit',
      graceMs: NOBODY_ELSE_MS,
      dueOf(event: RecordedEvent) {
        const end = endOfMove(event);
        if (end?.operation !== 'deposit' || !end.isConfirmed) return undefined;
        return { account: accountStreamOf(end.account), entryId: depositEntryId(end.ref) };
      },
      act,
    },
    {
      name: 'closeCashOut',
      graceMs: NOBODY_ELSE_MS,
      dueOf(event: RecordedEvent) {
        const end = endOfMove(event);
        if (end?.operation !== 'cashOut') return undefined;
        return { account: accountStreamOf(end.account), holdId: cashOutHoldId(end.ref) };
      },
      act,
    },
  ];
}
