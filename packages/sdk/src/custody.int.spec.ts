/** The SDK's custody calls against the service over HTTP: a pool from its first stake to its last credit. */
import { randomUUID } from 'node:crypto';
import { CHIP, useCustody } from '@coffer/custody/testing';
import { expect } from 'chai';
import { createBackendClient, splitPool } from './index.ts';
import { failureOf } from './testing/scriptedService.ts';

describe('the SDK, with pools of the service', () => {
  const custody = useCustody();
  const client = () =>
    createBackendClient({ baseUrl: custody.world.client.baseUrl, secretKey: custody.test.secretKey });
  let poolId: string;
  beforeEach(() => {
    poolId = `round-${randomUUID()}`;
  });

  it('plays a pool of three, divides it to the last unit, and waits for the credits', async () => {
    const { custody: pools, users } = client();
    const amounts = [100n, 50n, 33n];
    const players = await Promise.all(amounts.map((amount) => custody.test.newPlayer(amount.toString())));
    for (const [index, amount] of amounts.entries()) {
      const bet = { poolId, betId: `b${index}` };
      const locking = { ...bet, userId: players[index] ?? '', currency: CHIP, amount };
      expect(await pools.lock(locking)).to.deep.include({ amount, status: 'locked', replayed: false });
      expect(await pools.lock(locking)).to.deep.include({ amount, status: 'locked', replayed: true });
      expect(await pools.confirm(bet)).to.deep.include({ amount, status: 'confirmed' });
    }
    const { items: stakes } = await pools.stakes(poolId, { status: 'confirmed' });
    const { rake, payouts } = splitPool({ stakes, winners: ['b0', 'b2'], rakeBps: 500 });
    const settled = await pools.settle({ poolId, currency: CHIP, rake, payouts });
    expect(settled).to.deep.include({ staked: 183n, rake: 9n, paid: 174n, released: [] });

    const credited = await pools.waitForCredits(poolId);
    expect(credited).to.deep.include({ status: 'settled', credits: { done: 3, of: 3 } });
    const funds = await Promise.all(
      players.map(async (player) => {
        const accounts = await users.accounts(player);
        return accounts.find(({ currencyId }) => currencyId === CHIP)?.available;
      }),
    );
    expect(funds).to.deep.equal([131n, 0n, 43n]);
    expect((await pools.stakes(poolId)).items.map(({ payout }) => payout)).to.deep.equal([131n, 0n, 43n]);
    expect((await pools.pools({ limit: 1 })).items).to.deep.equal([credited]);
  });

  it('gives every stake back, and says why a pool cannot be settled any more', async () => {
    const { custody: pools } = client();
    const userId = await custody.stake(poolId, 'b1', '5');
    const refunded = await pools.refund({ poolId, reason: 'no contest' });
    expect(refunded.refunds).to.deep.equal([{ betId: 'b1', userId, amount: 5n }]);
    const failure = await failureOf(pools.settle({ poolId, currency: CHIP, rake: 5n, payouts: [] }));
    expect(failure).to.deep.include({ code: 'custody/pool_closed', details: { status: 'refunded' } });
  });
});
