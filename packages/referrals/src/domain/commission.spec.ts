/** Source: contract, Common rules (key scopes) and Referrals (amounts). */
import { givenWhenThen } from '@coffer/testing';
import { expect } from 'chai';
import type { CommissionEvent } from './commission.events.ts';
import { accrualsOf, type CommissionCommand, commission } from './commission.ts';
import { remainderOf } from './splitByLevels.ts';

const ANNA = 'usr_01jee1wzwqeh1rx3w2d3k4m5n1';
const BEN = 'usr_01jee1wzwqeh1rx3w2d3k4m5n2';
const CLEO = 'usr_01jee1wzwqeh1rx3w2d3k4m5n3';
const DAN = 'usr_01jee1wzwqeh1rx3w2d3k4m5n4';

const above = (level: number, userId: string, isErased = false) => ({ level, userId, isErased });
const CHAIN = [above(1, BEN), above(2, CLEO, true), above(3, DAN)];

describe('a commission', () => {
  const given = givenWhenThen(commission);
  const subject = { idemKey: 'k1', userId: ANNA, currencyId: 2 };
  const payout = { ...subject, amount: 101n, sourceUserId: BEN, memo: 'summer' };
  const distribution = { ...subject, amount: 199n, levels: [1000, 500, 10, 500] };
  const split = {
    distributed: [
      { level: 1, userId: BEN, bps: 1000, amount: 19n },
      { level: 3, userId: DAN, bps: 10, amount: 0n },
    ],
    withheld: [{ level: 2, userId: CLEO, bps: 500, amount: 9n }],
  };
  const withdrawal = { ...subject, requested: 10n, amount: 10n, balance: 91n };
  const paidOut = { type: 'PayoutDecided', data: payout } as const;
  const distributed = { type: 'DistributionDecided', data: { ...distribution, ...split } } as const;
  const withdrawn = { type: 'WithdrawalDecided', data: withdrawal } as const;
  const payOut = (fields: Partial<typeof payout> = {}): CommissionCommand => ({
    type: 'DecidePayout',
    ...payout,
    ...fields,
  });
  const distribute = (fields: Partial<typeof distribution> = {}, chain = CHAIN): CommissionCommand => ({
    type: 'DecideDistribution',
    ...distribution,
    ...fields,
    chain,
  });
  const withdraw = (fields: Partial<typeof withdrawal> = {}): CommissionCommand => ({
    type: 'DecideWithdrawal',
    ...withdrawal,
    ...fields,
  });

  const conflicts = (stored: CommissionEvent, command: CommissionCommand, field: string) =>
    given(stored).when(command).thenRejects('referrals/idempotency_conflict', { key: 'k1', field });

  describe('that is a payout', () => {
    const { sourceUserId: _source, memo: _memo, ...bare } = payout;

    it('is decided as requested, with source and memo or without', () => {
      given().when(payOut()).thenHappened(paidOut).andAnswers(paidOut);
      given()
        .when({ type: 'DecidePayout', ...bare })
        .thenHappened({ type: 'PayoutDecided', data: bare });
    });

    it('is one accrual of its beneficiary', () => {
      const { sourceUserId, memo } = payout;
      expect(accrualsOf(paidOut)).to.deep.equal([
        { userId: ANNA, kind: 'payout', amount: 101n, sourceUserId, memo },
      ]);
      expect(accrualsOf({ type: 'PayoutDecided', data: bare })).to.deep.equal([
        { userId: ANNA, kind: 'payout', amount: 101n },
      ]);
    });

    it('names the first field that differs', () => {
      const { idemKey: _key, ...changed } = {
        ...{ idemKey: 'k1', userId: BEN, currencyId: 3, amount: 1n, sourceUserId: CLEO, memo: 'winter' },
      };
      conflicts(paidOut, payOut(changed), 'userId');
      conflicts(paidOut, payOut({ ...changed, userId: ANNA }), 'currency');
      conflicts(paidOut, payOut({ ...changed, userId: ANNA, currencyId: 2 }), 'amount');
      conflicts(paidOut, payOut({ sourceUserId: CLEO, memo: 'winter' }), 'sourceUserId');
      conflicts(paidOut, payOut({ memo: 'winter' }), 'memo');
      conflicts(paidOut, { type: 'DecidePayout', ...bare, memo: 'summer' }, 'sourceUserId');
      conflicts(paidOut, { type: 'DecidePayout', ...bare, sourceUserId: BEN }, 'memo');
    });
  });

  describe('that is a distribution', () => {
    it('rounds each part down, lists a part of nothing, withholds an erased user’s, and skips levels beyond the chain', () => {
      given().when(distribute()).thenHappened(distributed).andAnswers(distributed);
      expect(remainderOf(199n, split.distributed)).to.equal(180n);
    });

    it('ends with the levels where the chain is longer', () => {
      const shorter = { ...distribution, levels: [10_000] };
      const parts = [{ level: 1, userId: BEN, bps: 10_000, amount: 199n }];
      given()
        .when(distribute(shorter))
        .thenHappened({
          type: 'DistributionDecided',
          data: { ...shorter, distributed: parts, withheld: [] },
        });
      expect(remainderOf(199n, parts)).to.equal(0n);
    });

    it('leaves everything with the house where nobody brought the user', () => {
      const none = { ...distribution, distributed: [], withheld: [] };
      given().when(distribute({}, [])).thenHappened({ type: 'DistributionDecided', data: none });
      expect(accrualsOf({ type: 'DistributionDecided', data: none })).to.deep.equal([]);
    });

    it('is an accrual for each part but those of nothing, by the user whose play earned it', () => {
      expect(accrualsOf(distributed)).to.deep.equal([
        { userId: BEN, kind: 'distribution', amount: 19n, level: 1, sourceUserId: ANNA },
      ]);
    });

    it('is answered by the split of the first time, however the chain has changed', () => {
      for (const chain of [[], CHAIN, [above(1, BEN, true), above(2, DAN)]]) {
        given(distributed).when(distribute({}, chain)).thenNothingHappened().andReplays(distributed);
      }
    });

    it('names the first field that differs', () => {
      const changed = { userId: BEN, currencyId: 3, amount: 1n, levels: [1000, 500, 10] };
      conflicts(distributed, distribute(changed), 'userId');
      conflicts(distributed, distribute({ ...changed, userId: ANNA }), 'currency');
      conflicts(distributed, distribute({ ...changed, userId: ANNA, currencyId: 2 }), 'amount');
      conflicts(distributed, distribute({ levels: [1000, 500, 10] }), 'levels');
      conflicts(distributed, distribute({ levels: [500, 1000, 10, 500] }), 'levels');
      conflicts(distributed, distribute({ levels: [1000, 500, 10, 500, 1] }), 'levels');
    });
  });

  describe('that is a withdrawal', () => {
    const { requested: _requested, ...all } = withdrawal;

    it('is decided with what was set aside, and accrues nothing', () => {
      given().when(withdraw()).thenHappened(withdrawn).andAnswers(withdrawn);
      given()
        .when({ type: 'DecideWithdrawal', ...all })
        .thenHappened({ type: 'WithdrawalDecided', data: all });
      expect(accrualsOf(withdrawn)).to.deep.equal([]);
    });

    it('names the first field that differs; all and a given amount differ', () => {
      const changed = { userId: BEN, currencyId: 3, requested: 11n };
      conflicts(withdrawn, withdraw(changed), 'userId');
      conflicts(withdrawn, withdraw({ ...changed, userId: ANNA }), 'currency');
      conflicts(withdrawn, withdraw({ requested: 11n }), 'amount');
      conflicts(withdrawn, { type: 'DecideWithdrawal', ...all }, 'amount');
      conflicts({ type: 'WithdrawalDecided', data: all }, withdraw(), 'amount');
    });
  });

  it('has its key for one operation, whatever else differs', () => {
    const other = { userId: BEN, currencyId: 3 };
    for (const command of [distribute(other), withdraw(other)]) conflicts(paidOut, command, 'operation');
    for (const command of [payOut(other), withdraw(other)]) conflicts(distributed, command, 'operation');
    for (const command of [payOut(other), distribute(other)]) conflicts(withdrawn, command, 'operation');
  });

  it('is answered again as the first time', () => {
    given(paidOut).when(payOut()).thenNothingHappened().andReplays(paidOut);
    given(withdrawn).when(withdraw()).thenNothingHappened().andReplays(withdrawn);
  });
});
