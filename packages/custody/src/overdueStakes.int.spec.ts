/** Stakes that nobody confirms in time. Source: contract, Custody (orphans). */
import { randomUUID } from 'node:crypto';
import { requireStatus, verdict } from '@coffer/host/testing';
import { eventually } from '@coffer/testing';
import { expect } from 'chai';
import { useCustody } from './testing/useCustody.ts';

const QUARTER_HOUR_MS = 900_000;

describe('A stake that is not confirmed in time', () => {
  let nowMs = Date.now();
  // Only requests release here: another node sweeps where that is the point.
  const custody = useCustody({ clock: () => new Date(nowMs), roles: ['api', 'projector'] });
  const { lock, confirm, settle, orphan, stake } = custody;
  let poolId: string;
  beforeEach(() => {
    poolId = `round-${randomUUID()}`;
  });
  afterEach(async () => {
    // Nothing is left over for the next spec.
    nowMs += 2 * QUARTER_HOUR_MS;
    await reconcile();
  });

  const reconcile = (body: object = {}) => custody.test.post('/custody/reconcile', { ...body });
  const released = async (body?: object) => requireStatus(await reconcile(body), 200).json.released;
  const statuses = async () => {
    const { items } = requireStatus(await custody.test.get(`/custody/pools/${poolId}/stakes`), 200).json;
    return (items as readonly Record<string, string>[]).map(({ betId, status }) => `${betId} ${status}`);
  };

  it('is given back by a request from confirmBy on, and not before', async () => {
    const userId = await orphan(poolId, 'b1', '7');
    nowMs += QUARTER_HOUR_MS - 1;
    expect(await released()).to.deep.equal([]);
    nowMs += 1;
    expect(await released()).to.deep.equal([{ poolId, betId: 'b1', userId, amount: '7' }]);
    expect(await custody.test.funds(userId)).to.deep.equal({ available: '7', held: '0' });
    expect(await released()).to.deep.equal([]);
    expect(await statuses()).to.deep.equal(['b1 released']);
    const again = { poolId, betId: 'b1' };
    expect(verdict(await confirm(again))).to.equal('409 custody/lock_released');
    expect(verdict(await lock({ ...again, userId, amount: '7' }))).to.equal('409 custody/lock_released');
  });

  it('can be confirmed until it is given back', async () => {
    await orphan(poolId, 'b1', '7');
    nowMs += 2 * QUARTER_HOUR_MS;
    requireStatus(await confirm({ poolId, betId: 'b1' }), 200);
    expect(await released()).to.deep.equal([]);
  });

  it('is given back by the settlement', async () => {
    await stake(poolId, 'b1', '5');
    await orphan(poolId, 'b2', '7');
    requireStatus(await settle({ poolId, rake: '5' }), 200);
    expect(await statuses()).to.deep.equal(['b1 settled', 'b2 released']);
    nowMs += QUARTER_HOUR_MS;
    expect(await released()).to.deep.equal([]);
  });

  it('waits longer if the request is more patient, never less long', async () => {
    await orphan(poolId, 'b1', '7');
    nowMs += 60_000;
    expect(await released({ olderThanSeconds: 60 })).to.deep.equal([]);
    nowMs += QUARTER_HOUR_MS;
    expect(await released({ olderThanSeconds: 3_600 })).to.deep.equal([]);
    expect(await released({ olderThanSeconds: 960 })).to.have.length(1);
  });

  it('leaves those of other environments and confirmed ones alone, in any number of pools', async () => {
    const pools = [1, 2, 3].map((number) => `${poolId}-${number}`);
    for (const id of pools) await orphan(id, 'b1', '1');
    await stake(poolId, 'b1', '5');
    nowMs += QUARTER_HOUR_MS;
    const live = await custody.app.live.post('/custody/reconcile', {});
    expect(live.json).to.deep.equal({ released: [] });
    const found = (await released()) as readonly Record<string, string>[];
    expect(found.map((each) => each.poolId).sort()).to.deep.equal(pools);
    expect(await statuses()).to.deep.equal(['b1 confirmed']);
  });

  it('is not looked for by a request that is malformed, or without pool escrow', async () => {
    for (const body of [
      { olderThanSeconds: 59 },
      { olderThanSeconds: '60' },
      { olderThanSeconds: 60.5 },
      { x: 1 },
    ]) {
      expect(verdict(await reconcile(body)), JSON.stringify(body)).to.equal('400 request/invalid');
    }
    await custody.set({ poolEscrowEnabled: false });
    expect(verdict(await reconcile({ olderThanSeconds: 1 }))).to.equal('404 custody/not_found');
    await custody.set({ poolEscrowEnabled: true });
  });

  it('is given back without any request, by the sweep of a node, even if the app has lost pool escrow', async () => {
    const userId = await orphan(poolId, 'b1', '7');
    await eventually('the rows have the stake', async () => {
      const { rowCount } = await custody.world.pool.query(
        'select from read_v1.pool_stakes where stream like $1',
        [`%.${poolId}`],
      );
      return rowCount === 1 || undefined;
    });
    await custody.set({ poolEscrowEnabled: false });
    const later = nowMs + QUARTER_HOUR_MS;
    const node = await custody.world.startNode({ roles: ['process-manager'], clock: () => new Date(later) });
    await eventually('the funds are back', async () => {
      return (await custody.test.funds(userId)).available === '7' || undefined;
    });
    await node.stop();
    await custody.set({ poolEscrowEnabled: true });
    expect(await statuses()).to.deep.equal(['b1 released']);
  });

  it('is released once, and never after it was confirmed, whoever comes at the same moment', async () => {
    const bets = Array.from({ length: 12 }, (_, index) => `b${index}`);
    for (const betId of bets) await orphan(poolId, betId, '3');
    nowMs += QUARTER_HOUR_MS;
    const [confirms, ...sweeps] = await Promise.all([
      Promise.all(bets.map((betId) => confirm({ poolId, betId }))),
      released(),
      released(),
    ]);
    const back = (sweeps as (readonly Record<string, string>[])[]).flat().map(({ betId }) => betId);
    const kept = bets.filter((_, index) => confirms[index]?.status === 200);
    expect(new Set(back).size, 'each at most once').to.equal(back.length);
    expect([...back, ...kept].sort()).to.deep.equal([...bets].sort());
  });
});
