/** Source: contract, Money model (postings of commissions). */
import { recordedHistory } from '@coffer/testing';
import { expect } from 'chai';
import { type EarningsEvent, earningsEvents } from './domain/earnings.events.ts';
import { earningsStreamOf } from './domain/earnings.ts';
import { earningsPostings } from './earnings.postings.ts';

const USER = 'usr_01jee1wzwqeh1rx3w2d3k4m5n1';
const stream = earningsStreamOf({
  environment: 'live',
  appId: 'app_01jee1wzwqeh1rx3w2d3k4m5n6',
  userId: USER,
  currencyId: 2,
});
const history: readonly EarningsEvent[] = [
  { type: 'EarningsAccrued', data: { idemKey: 'k1', kind: 'payout', amount: 10n, balance: 10n } },
  { type: 'EarningsWithdrawn', data: { idemKey: 'w1', amount: 4n, balance: 6n } },
  { type: 'WithdrawalReturned', data: { idemKey: 'w1', amount: 4n } },
];

describe('the postings of earnings', () => {
  it('are the debt of the house for what accrues, and none for what is set aside', () => {
    const [accrued, ...others] = recordedHistory(earningsEvents, stream, history).map(earningsPostings);
    expect(accrued).to.deep.include({
      appId: 'app_01jee1wzwqeh1rx3w2d3k4m5n6',
      environment: 'live',
      currencyId: 2,
      subject: 'commission:k1',
      postings: [
        { account: 'house', amount: -10n },
        { account: 'referrals', amount: 10n },
      ],
    });
    expect(others).to.deep.equal([undefined, undefined]);
  });
});
