/** What each of the four streams decides alone. Source: contract, Referrals. */
import { givenWhenThen } from '@coffer/testing';
import { commission } from './commission.ts';
import { earnings } from './earnings.ts';
import { referral } from './referral.ts';
import { referralCode } from './referralCode.ts';

const ANNA = 'usr_01jee1wzwqeh1rx3w2d3k4m5n1';
const BEN = 'usr_01jee1wzwqeh1rx3w2d3k4m5n2';

describe('a referral code', () => {
  const given = givenWhenThen(referralCode);
  const claimed = { type: 'CodeClaimed', data: { code: 'Anna', userId: ANNA } } as const;

  it('is claimed by whoever comes first', () => {
    given().when({ type: 'ClaimCode', code: 'Anna', userId: ANNA }).thenHappened(claimed);
    given(claimed).when({ type: 'ClaimCode', code: 'ANNA', userId: BEN }).thenNothingHappened();
  });
});

describe('a referral', () => {
  const given = givenWhenThen(referral);
  const link = { referrerUserId: BEN, code: 'BEN' };
  const attributed = { type: 'UserAttributed', data: link } as const;
  const begun = { type: 'AttributionBegun', data: link } as const;
  const issued = { type: 'CodeIssued', data: { code: 'ANNA' } } as const;

  it('is decided at once for a user without a code, and is final', () => {
    given()
      .when({ type: 'Attribute', ...link })
      .thenHappened(attributed);
    given(attributed).when({ type: 'Attribute', referrerUserId: ANNA, code: 'X' }).thenNothingHappened();
  });

  it('is begun for a user with a code, then attributed or dropped', () => {
    given(issued)
      .when({ type: 'Attribute', ...link })
      .thenHappened(begun);
    given(issued, begun)
      .when({ type: 'FinishAttribution', begunAt: 1, closesCircle: false })
      .thenHappened(attributed);
    given(issued, begun)
      .when({ type: 'FinishAttribution', begunAt: 1, closesCircle: true })
      .thenHappened({ type: 'AttributionDropped', data: { referrerUserId: BEN } });
  });
});

describe('a commission', () => {
  const given = givenWhenThen(commission);
  const request = { idemKey: 'k1', userId: ANNA, currencyId: 2, amount: 101n };
  const decided = { type: 'PayoutDecided', data: request } as const;

  it('names the first field that differs', () => {
    given()
      .when({ type: 'DecidePayout', ...request })
      .thenHappened(decided);
    const conflict = (field: string) => ['referrals/idempotency_conflict', { key: 'k1', field }] as const;
    given(decided)
      .when({ type: 'DecidePayout', ...request, userId: BEN, amount: 1n })
      .thenRejects(...conflict('userId'));
    given(decided)
      .when({ type: 'DecidePayout', ...request, memo: 'x' })
      .thenRejects(...conflict('memo'));
    given(decided)
      .when({ type: 'DecideDistribution', ...request, levels: [1], chain: [] })
      .thenRejects(...conflict('operation'));
  });
});

describe('earnings', () => {
  const given = givenWhenThen(earnings);
  const accrued = {
    type: 'EarningsAccrued',
    data: { idemKey: 'k1', kind: 'payout', amount: 10n, balance: 10n },
  } as const;

  it('accrue once for each key', () => {
    given().when({ type: 'Accrue', idemKey: 'k1', kind: 'payout', amount: 10n }).thenHappened(accrued);
  });

  it('are withdrawn whole where no amount is given, and never below zero', () => {
    given(accrued)
      .when({ type: 'Withdraw', idemKey: 'w1', requested: undefined })
      .thenHappened({ type: 'EarningsWithdrawn', data: { idemKey: 'w1', amount: 10n, balance: 0n } });
    given(accrued)
      .when({ type: 'Withdraw', idemKey: 'w1', requested: 11n })
      .thenRejects('referrals/insufficient_earnings', { balance: 10n, amount: 11n });
    given()
      .when({ type: 'Withdraw', idemKey: 'w1', requested: undefined })
      .thenRejects('referrals/insufficient_earnings', { balance: 0n, amount: null });
  });
});
