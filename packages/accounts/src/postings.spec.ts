import { expect } from 'chai';
import type { AccountEvent, EntryReason } from './domain/account.events.ts';
import { cashOutHoldId, type EntryId, type HoldId, sessionHoldId, stakeHoldId } from './domain/accountIds.ts';
import { type BookAccount, postingsOf } from './postings.ts';

type Rows = Partial<Record<BookAccount, bigint>>;

const entry = (entryId: EntryId, reason: EntryReason) =>
  ({ entryId, amount: 5n, reason, available: 5n, held: 0n }) as const;
const credited = (entryId: EntryId, reason: EntryReason): AccountEvent => ({
  type: 'AccountCredited',
  data: entry(entryId, reason),
});
const debited = (entryId: EntryId, reason: EntryReason): AccountEvent => ({
  type: 'AccountDebited',
  data: entry(entryId, reason),
});
const held = (holdId: HoldId, amount: bigint): AccountEvent => ({
  type: 'FundsHeld',
  data: { holdId, amount, purpose: 'session', request: {} },
});
const closed = (holdId: HoldId, heldAmount: bigint, payout: bigint): AccountEvent => ({
  type: 'HoldClosed',
  data: { holdId, held: heldAmount, payout },
});

const session = sessionHoldId('s');

/** The table of the contract, Money model. */
const table: readonly (readonly [rule: string, event: AccountEvent, rows: Rows])[] = [
  ['deposit', credited('deposit:a', 'deposit'), { available: 5n, external: -5n }],
  ['adjustment', credited('adjust:a', 'adjustment'), { available: 5n, adjustments: -5n }],
  ['earnings withdrawn', credited('earnings:a', 'earnings'), { available: 5n, referrals: -5n }],
  ['late rollback', credited('rollback:s/a', 'rollback'), { available: 5n, house: -5n }],
  ['debit: the reverse', debited('adjust:a', 'adjustment'), { available: -5n, adjustments: 5n }],
  ['funds held', held(session, 5n), { available: -5n, held: 5n }],
  [
    'session lost: the house keeps the rest',
    closed(session, 5n, 2n),
    { held: -5n, available: 2n, house: 3n },
  ],
  ['session won: the house pays', closed(session, 5n, 9n), { held: -5n, available: 9n, house: -4n }],
  ['session even', closed(session, 5n, 5n), { held: -5n, available: 5n, house: 0n }],
  ['stake lost', closed(stakeHoldId('p', 'b'), 5n, 0n), { held: -5n, available: 0n, pools: 5n }],
  ['cash-out sent', closed(cashOutHoldId('r'), 5n, 0n), { held: -5n, available: 0n, external: 5n }],
  ['cash-out failed', closed(cashOutHoldId('r'), 5n, 5n), { held: -5n, available: 5n, external: 0n }],
];

describe('postings', () => {
  for (const [rule, event, rows] of table) {
    it(rule, () => {
      const postings = postingsOf(event);
      expect(Object.fromEntries(postings.map(({ account, amount }) => [account, amount]))).to.deep.equal(
        rows,
      );
      expect(postings.reduce((sum, { amount }) => sum + amount, 0n)).to.equal(0n);
    });
  }
});
