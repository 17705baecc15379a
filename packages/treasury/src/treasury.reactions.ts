/**
 * What must follow from the hold of a cash-out and from the end of a move, even if whoever began it has died: the hold
 * process carries it out. Source: ADR 0006.
 */
import {
  type AccountDue,
  accountStreamOf,
  cashOutHoldId,
  depositEntryId,
  type HoldAct,
} from '@coffer/accounts';
import { actDeadlineMs } from '@coffer/consumers';
import type { RecordedEvent } from '@coffer/event-store';
import { endOfMove, requestedIn } from './moveFacts.ts';
import type { Treasury } from './treasury.ts';

/** No request waits for the end of a move: only this process books it, at once. */
const NOBODY_ELSE_MS = 0;

type CarryOut = Pick<Treasury, 'carryOut'>;

/** For holds with the purpose `cashout`: the request of the move, recorded as `MoveRequested`. */
export function cashOutHoldAct({ carryOut }: CarryOut): HoldAct {
  return {
    holdOf(event: RecordedEvent) {
      const move = requestedIn(event);
      if (move?.operation !== 'cashOut') return undefined;
      return { account: accountStreamOf(move.account), holdId: cashOutHoldId(move.ref) };
    },
    act: (held: RecordedEvent) => carryOut.cashOut(held, actDeadlineMs()),
  };
}

/** What the ends of moves owe to accounts: crediting a confirmed deposit, closing the hold of a cash-out. */
export function treasuryDues({ carryOut }: CarryOut): readonly AccountDue[] {
  const act = (cause: RecordedEvent) => carryOut.book(cause, actDeadlineMs());
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
