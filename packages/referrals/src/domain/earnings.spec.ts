/** Source: contract, Referrals (withdraw) and Money model. */
import { MAX_AMOUNT } from '@coffer/kernel';
import { givenWhenThen } from '@coffer/testing';
import { expect } from 'chai';
import type { EarningsEvent } from './earnings.events.ts';
import { earnings } from './earnings.ts';

const BEN = 'usr_01jee1wzwqeh1rx3w2d3k4m5n2';

const accrued = (idemKey: string, amount: bigint, balance: bigint): EarningsEvent => ({
  type: 'EarningsAccrued',
  data: { idemKey, kind: 'payout', amount, balance },
});
const withdrawn = (
  idemKey: string,
  asked: { readonly requested?: bigint },
  amount: bigint,
  balance: bigint,
): EarningsEvent => ({ type: 'EarningsWithdrawn', data: { idemKey, ...asked, amount, balance } });
const returned = (idemKey: string, amount: bigint): EarningsEvent => ({
  type: 'WithdrawalReturned',
  data: { idemKey, amount },
});

describe('earnings', () => {
  const given = givenWhenThen(earnings);
  const accrue = (idemKey: string, amount: bigint) =>
    ({ type: 'Accrue', idemKey, kind: 'payout', amount }) as const;
  const withdraw = (idemKey: string, requested?: bigint) =>
    ({ type: 'Withdraw', idemKey, requested }) as const;
  const giveBack = (idemKey: string) => ({ type: 'ReturnWithdrawal', idemKey }) as const;

  describe('that accrue', () => {
    it('grow by the amount', () => {
      given()
        .when(accrue('k1', 10n))
        .thenHappened(accrued('k1', 10n, 10n))
        .andAnswers({ amount: 10n, balance: 10n, revision: 0 });
      given(accrued('k1', 10n, 10n), withdrawn('w1', {}, 10n, 0n))
        .when(accrue('k2', 5n))
        .thenHappened(accrued('k2', 5n, 5n))
        .andAnswers({ amount: 5n, balance: 5n, revision: 2 });
    });

    it('keep what the commission says of them', () => {
      const data = { idemKey: 'k1', kind: 'distribution', amount: 7n, level: 3, sourceUserId: BEN } as const;
      for (const more of [{}, { memo: 'summer' }, { isLast: true as const }]) {
        given()
          .when({ type: 'Accrue', ...data, ...more })
          .thenHappened({ type: 'EarningsAccrued', data: { ...data, ...more, balance: 7n } });
      }
    });

    it('do so once for each key, and answer again as the first time', () => {
      given(accrued('k1', 10n, 10n), accrued('k2', 5n, 15n))
        .when(accrue('k1', 10n))
        .thenNothingHappened()
        .andReplays({ amount: 10n, balance: 10n, revision: 0 });
    });

    it('have no limit', () => {
      given(accrued('k1', MAX_AMOUNT, MAX_AMOUNT))
        .when(accrue('k2', MAX_AMOUNT))
        .thenHappened(accrued('k2', MAX_AMOUNT, 2n * MAX_AMOUNT));
    });
  });

  describe('that are withdrawn', () => {
    const ten = accrued('k1', 10n, 10n);

    it('shrink by the amount, down to nothing', () => {
      given(ten)
        .when(withdraw('w1', 4n))
        .thenHappened(withdrawn('w1', { requested: 4n }, 4n, 6n))
        .andAnswers({ amount: 4n, balance: 6n, revision: 1 });
      given(ten)
        .when(withdraw('w1', 10n))
        .thenHappened(withdrawn('w1', { requested: 10n }, 10n, 0n));
    });

    it('go whole where no amount is given, but no more than an amount can say', () => {
      given(ten)
        .when(withdraw('w1'))
        .thenHappened(withdrawn('w1', {}, 10n, 0n))
        .andAnswers({ amount: 10n, balance: 0n, revision: 1 });
      given(accrued('k1', MAX_AMOUNT, MAX_AMOUNT), accrued('k2', 3n, MAX_AMOUNT + 3n))
        .when(withdraw('w1'))
        .thenHappened(withdrawn('w1', {}, MAX_AMOUNT, 3n));
    });

    it('are refused beyond the balance, and where there is nothing', () => {
      const refused = (balance: bigint, amount: bigint | null) =>
        ['referrals/insufficient_earnings', { balance, amount }] as const;
      given(ten)
        .when(withdraw('w1', 11n))
        .thenRejects(...refused(10n, 11n));
      given()
        .when(withdraw('w1'))
        .thenRejects(...refused(0n, null));
      given()
        .when(withdraw('w1', 1n))
        .thenRejects(...refused(0n, 1n));
      given(ten, withdrawn('w1', {}, 10n, 0n))
        .when(withdraw('w2'))
        .thenRejects(...refused(0n, null));
    });

    it('are answered again as the first time, whatever has come since', () => {
      const later = [accrued('k2', 5n, 5n), withdrawn('w2', { requested: 5n }, 5n, 0n)];
      given(ten, withdrawn('w1', {}, 10n, 0n), ...later)
        .when(withdraw('w1'))
        .thenNothingHappened()
        .andReplays({ amount: 10n, balance: 0n, revision: 1 });
    });

    it('are refused under a key with another amount; all and a given amount differ', () => {
      const conflict = ['referrals/idempotency_conflict', { key: 'w1', field: 'amount' }] as const;
      const part = withdrawn('w1', { requested: 4n }, 4n, 6n);
      given(ten, part)
        .when(withdraw('w1', 5n))
        .thenRejects(...conflict);
      given(ten, part)
        .when(withdraw('w1'))
        .thenRejects(...conflict);
      // Before the balance is looked at.
      given(ten, part)
        .when(withdraw('w1', 11n))
        .thenRejects(...conflict);
      given(ten, withdrawn('w1', {}, 10n, 0n))
        .when(withdraw('w1', 10n))
        .thenRejects(...conflict);
    });

    it('may have the key of an accrual here: the commission decides whose the key is', () => {
      given(ten)
        .when(withdraw('k1', 4n))
        .thenHappened(withdrawn('k1', { requested: 4n }, 4n, 6n));
    });
  });

  describe('that are returned, because the key was another operation’s', () => {
    const history = [accrued('k1', 10n, 10n), withdrawn('w1', { requested: 4n }, 4n, 6n)];

    it('are there again', () => {
      given(...history)
        .when(giveBack('w1'))
        .thenHappened(returned('w1', 4n))
        .andAnswers({ amount: 4n, balance: 10n, revision: 2 });
      given(...history, returned('w1', 4n))
        .when(withdraw('w2'))
        .thenHappened(withdrawn('w2', {}, 10n, 0n));
    });

    it('come back once', () => {
      given(...history, returned('w1', 4n), accrued('k2', 1n, 11n))
        .when(giveBack('w1'))
        .thenNothingHappened()
        .andReplays({ amount: 4n, balance: 10n, revision: 2 });
    });

    it('leave the key to the other operation', () => {
      given(...history, returned('w1', 4n))
        .when(withdraw('w1', 4n))
        .thenRejects('referrals/idempotency_conflict', { key: 'w1', field: 'operation' });
    });

    it('cannot be what was never withdrawn', () => {
      expect(() => given().when(giveBack('w1')).thenNothingHappened()).to.throw('w1 was withdrawn');
    });
  });
});
