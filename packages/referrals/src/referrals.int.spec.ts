/** Referrals over HTTP. Source: contract, Referrals. */
import { accountsContext } from '@coffer/accounts';
import { auditContext } from '@coffer/audit';
import { contexts } from '@coffer/host';
import {
  type ContextWorld,
  type Fields,
  requireStatus,
  setUpApp,
  startContexts,
  type TestApp,
  verdict,
} from '@coffer/host/testing';
import { type PortalGiven, portalContext } from '@coffer/portal';
import { PORTAL_GIVEN } from '@coffer/portal/testing';
import { usersContext } from '@coffer/users';
import { expect } from 'chai';
import { referralsContext } from './context.ts';

const CONTEXTS = contexts<PortalGiven>()
  .with(portalContext)
  .with(auditContext)
  .with(usersContext)
  .with(accountsContext)
  .with(referralsContext);
const CHIP = 2;

describe('Referrals', () => {
  let world: ContextWorld<PortalGiven>;
  let app: TestApp;
  before(async () => {
    world = await startContexts({ contexts: CONTEXTS, given: PORTAL_GIVEN });
    app = await setUpApp(world.client);
  });
  after(() => world.stop());
  const call = (path: string, fields: Fields) => app.test.post(`/referrals/${path}`, fields);

  it('split an amount over the chain, and pay the earnings out once', async () => {
    const [above, below] = [await app.test.newPlayer('1'), await app.test.newPlayer('1')];
    const { json } = requireStatus(await call('code', { userId: above }), 200);
    expect(
      requireStatus(await call('attribute', { userId: below, code: json.code }), 200).json,
    ).to.deep.equal({
      attributed: true,
      referrerUserId: above,
    });
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
    expect(await app.test.funds(above)).to.deep.equal({ available: '11', held: '0' });
    expect(verdict(await call('withdraw', { ...withdrawal, idemKey: 'd1' }))).to.equal(
      '409 referrals/idempotency_conflict',
    );
  });
});
