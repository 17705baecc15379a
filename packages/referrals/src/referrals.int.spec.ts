/** Referrals over HTTP. Source: contract, Referrals. */
import { requireStatus, verdict } from '@coffer/host/testing';
import { expect } from 'chai';
import { CHIP, useReferrals } from './testing/useReferrals.ts';

describe('Referrals', () => {
  const referrals = useReferrals();
  const { call, newUser, chain } = referrals;

  it('split an amount over the chain, and pay the earnings out once', async () => {
    const [above, below] = [await newUser(), await newUser()];
    await chain(below, above);
    const split = { idemKey: 'd1', userId: below, currency: CHIP, amount: '101', levels: [1000, 500] };
    const first = requireStatus(await call('distribute', split), 200);
    expect(first.json).to.deep.equal({
      idemKey: 'd1',
      distributed: [{ level: 1, userId: above, bps: 1000, amount: '10' }],
      withheld: [],
      remainder: '91',
    });
    expect((await call('distribute', split)).text).to.equal(first.text);

    const withdrawal = { idemKey: 'w1', userId: above, currency: CHIP };
    const withdrawn = requireStatus(await call('withdraw', withdrawal), 200);
    expect(withdrawn.json).to.deep.equal({ ...withdrawal, amount: '10', balance: '0' });
    expect((await call('withdraw', withdrawal)).text).to.equal(withdrawn.text);
    expect(await referrals.app.test.funds(above)).to.deep.equal({ available: '11', held: '0' });
    expect(verdict(await call('withdraw', { ...withdrawal, idemKey: 'd1' }))).to.equal(
      '409 referrals/idempotency_conflict',
    );
  });
});
