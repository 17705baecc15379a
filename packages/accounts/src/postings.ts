/**
 * The only answer to "what does this event do to money". Source: contract, Money model.
 * A row is signed from the view of its account in the books; the rows of an event sum to zero.
 */
import assert from 'node:assert/strict';
import type { AccountEvent, EntryReason } from './domain/account.events.ts';
import { type HoldPurpose, purposeOf } from './domain/accountIds.ts';

export type BookAccount = 'available' | 'held' | 'house' | 'external' | 'adjustments' | 'referrals' | 'pools';

export interface Posting {
  readonly account: BookAccount;
  readonly amount: bigint;
}

/** Where what enters the available funds comes from. */
const SOURCE_OF_ENTRY: Readonly<Record<EntryReason, BookAccount>> = {
  deposit: 'external',
  adjustment: 'adjustments',
  earnings: 'referrals',
  rollback: 'house',
};

/** Who keeps what a hold does not pay out, and who pays what exceeds it. */
const OTHER_SIDE_OF_HOLD: Readonly<Record<HoldPurpose, BookAccount>> = {
  session: 'house',
  stake: 'pools',
  cashout: 'external',
};

export function postingsOf(event: AccountEvent): readonly Posting[] {
  const postings = rowsOf(event);
  const sum = postings.reduce((total, { amount }) => total + amount, 0n);
  assert.equal(sum, 0n, `the postings of ${event.type} sum to zero`);
  return postings;
}

function rowsOf(event: AccountEvent): readonly Posting[] {
  switch (event.type) {
    case 'AccountCredited': {
      const { amount, reason } = event.data;
      return [
        { account: 'available', amount },
        { account: SOURCE_OF_ENTRY[reason], amount: -amount },
      ];
    }
    case 'AccountDebited': {
      const { amount, reason } = event.data;
      return [
        { account: 'available', amount: -amount },
        { account: SOURCE_OF_ENTRY[reason], amount },
      ];
    }
    case 'FundsHeld': {
      const { amount } = event.data;
      return [
        { account: 'available', amount: -amount },
        { account: 'held', amount },
      ];
    }
    case 'HoldClosed': {
      const { holdId, held, payout } = event.data;
      return [
        { account: 'held', amount: -held },
        { account: 'available', amount: payout },
        { account: OTHER_SIDE_OF_HOLD[purposeOf(holdId)], amount: held - payout },
      ];
    }
    default:
      throw new assert.AssertionError({ message: 'no such event', actual: event satisfies never });
  }
}
