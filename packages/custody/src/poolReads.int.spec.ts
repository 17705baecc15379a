/** Pools as apps and operators see them: what was just written is there. Source: contract, Custody. */
import { randomUUID } from 'node:crypto';
import { requireStatus, verdict } from '@coffer/host/testing';
import { eventually } from '@coffer/testing';
import { expect } from 'chai';
import { CHIP, useCustody } from './testing/useCustody.ts';

interface Page {
  readonly items: readonly Record<string, unknown>[];
  readonly nextCursor: string | null;
}

describe('Pools, read', () => {
  const custody = useCustody();
  const { settle, refund, stake, orphan } = custody;
  let poolId: string;
  beforeEach(() => {
    poolId = `round-${randomUUID()}`;
  });

  const get = (path: string) => custody.test.get(`/custody/pools${path}`);
  const show = async (id = poolId) => requireStatus(await get(`/${id}`), 200).json;
  const page = async (path: string) => requireStatus(await get(path), 200).json as unknown as Page;
  const stakes = async (query = '') =>
    (await page(`/${poolId}/stakes${query}`)).items.map(
      ({ betId, status, payout }) => `${betId} ${status} ${payout}`,
    );

  it('show what is locked and confirmed, as soon as it is', async () => {
    await orphan(poolId, 'b1', '10');
    const pool = { poolId, currency: CHIP, status: 'open', credits: { done: 0, of: 0 } };
    expect(await show()).to.deep.equal({ ...pool, staked: '10', confirmed: '0', locked: '10' });
    await stake(poolId, 'b2', '5');
    expect(await show()).to.deep.equal({ ...pool, staked: '15', confirmed: '5', locked: '10' });
    expect((await page('?limit=1')).items).to.deep.equal([await show()]);
    expect(await stakes()).to.deep.equal(['b1 locked null', 'b2 confirmed null']);
  });

  it('show a settlement, its payouts, and that all credits are done', async () => {
    const ann = await stake(poolId, 'b1', '60');
    await stake(poolId, 'b2', '40');
    await orphan(poolId, 'b3', '7');
    requireStatus(
      await settle({ poolId, rake: '5', payouts: [{ betId: 'b1', userId: ann, payout: '95' }] }),
      200,
    );
    expect(await show()).to.deep.equal({
      poolId,
      currency: CHIP,
      status: 'settled',
      staked: '100',
      confirmed: '100',
      locked: '0',
      credits: { done: 3, of: 3 },
    });
    expect(await stakes()).to.deep.equal(['b1 settled 95', 'b2 settled 0', 'b3 released null']);
    const [item] = (await page(`/${poolId}/stakes?limit=1`)).items;
    expect(Object.keys(item ?? {})).to.deep.equal(['betId', 'userId', 'amount', 'status', 'payout', 'at']);
    expect(item).to.include({ betId: 'b1', userId: ann, amount: '60' });
    expect((await page('?status=settled&limit=1')).items).to.deep.equal([await show()]);
  });

  it('show a refund in full', async () => {
    await stake(poolId, 'b1', '60');
    await orphan(poolId, 'b2', '7');
    requireStatus(await refund({ poolId }), 200);
    expect(await show()).to.deep.include({ status: 'refunded', staked: '67', credits: { done: 2, of: 2 } });
    expect(await stakes()).to.deep.equal(['b1 refunded 60', 'b2 refunded 7']);
  });

  it('list stakes in pages, in the order of their locks, by status', async () => {
    for (const number of [1, 2, 3, 4, 5]) {
      await (number % 2 === 0 ? orphan : stake)(poolId, `b${number}`, '1');
    }
    const seen: unknown[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { items, nextCursor }: Page = await page(
        `/${poolId}/stakes?limit=2${cursor && `&cursor=${cursor}`}`,
      );
      seen.push(items.map(({ betId }) => betId));
      cursor = nextCursor;
    }
    expect(seen).to.deep.equal([['b1', 'b2'], ['b3', 'b4'], ['b5']]);
    expect(await stakes('?status=locked')).to.deep.equal(['b2 locked null', 'b4 locked null']);
    const ofLocked = await page(`/${poolId}/stakes?status=locked&limit=1`);
    const other = await get(`/${poolId}/stakes?status=confirmed&cursor=${ofLocked.nextCursor}`);
    expect([other.status, other.json.code]).to.deep.equal([400, 'request/invalid']);
  });

  it('list pools newest first, in pages, by status and currency', async () => {
    const made = [`a-${poolId}`, `b-${poolId}`, `c-${poolId}`];
    for (const id of made) await stake(id, 'b1', '1');
    requireStatus(await refund({ poolId: made[1] }), 200);
    const ids = async (query: string) => (await page(query)).items.map((item) => item.poolId);
    expect(await ids('?limit=3')).to.deep.equal([...made].reverse());
    expect((await ids('?status=refunded&limit=1'))[0]).to.equal(made[1]);
    expect((await ids(`?currency=${CHIP}&status=open&limit=2`)).slice(0, 2)).to.deep.equal([
      made[2],
      made[0],
    ]);
    expect(await ids('?currency=1')).to.deep.equal([]);
    const first = await page('?limit=2');
    expect((await ids(`?limit=1&cursor=${first.nextCursor}`))[0]).to.equal(made[0]);
    const other = await get(`?status=open&cursor=${first.nextCursor}`);
    expect([other.status, other.json.code]).to.deep.equal([400, 'request/invalid']);
  });

  it('are refused by what is wrong with the request', async () => {
    await orphan(poolId, 'b1', '1');
    const rows: readonly [path: string, refusal: string][] = [
      ['/absent', '404 custody/pool_not_found'],
      ['/not%20an%20id', '404 custody/pool_not_found'],
      [`/${'x'.repeat(65)}/stakes`, '404 custody/pool_not_found'],
      ['?currency=99', '404 custody/unknown_currency'],
      ['?currency=one', '400 request/invalid'],
      ['?status=closed', '400 request/invalid'],
      ['?limit=0', '400 request/invalid'],
      ['?cursor=!', '400 request/invalid'],
      ['?colour=red', '400 request/invalid'],
      [`/${poolId}/stakes?status=open`, '400 request/invalid'],
      [`/${poolId}?limit=1`, '400 request/invalid'],
    ];
    for (const [path, refusal] of rows) expect(verdict(await get(path)), path).to.equal(refusal);
  });

  it('are those of one app and environment', async () => {
    await orphan(poolId, 'b1', '1');
    const live = await custody.app.live.get(`/custody/pools/${poolId}`);
    expect(verdict(live)).to.equal('404 custody/pool_not_found');
    expect((await custody.app.live.get('/custody/pools')).json.items).to.deep.equal([]);
  });

  it('do not exist for an app without pool escrow, but for the operator', async () => {
    await orphan(poolId, 'b1', '9');
    await custody.set({ poolEscrowEnabled: false });
    try {
      for (const path of ['', `/${poolId}`, `/${poolId}/stakes?limit=0`]) {
        expect(verdict(await get(path)), path).to.equal('404 custody/not_found');
      }
      const ofApp = `/portal/app/${custody.app.appId}/test/pools`;
      const ask = async (path: string) =>
        requireStatus(await custody.world.client.get(`${ofApp}${path}`), 200).json;
      expect(await ask(`/${poolId}`)).to.include({ poolId, status: 'open', locked: '9' });
      expect((await ask('?limit=1')).items).to.have.length(1);
      expect((await ask(`/${poolId}/stakes`)).items).to.have.length(1);
      const voided = await custody.world.client.post(`${ofApp}/${poolId}/refund`, { reason: 'left open' });
      expect(requireStatus(voided, 200).json).to.include({ poolId, status: 'refunded' });
      expect(await ask(`/${poolId}`)).to.deep.include({ credits: { done: 1, of: 1 } });
    } finally {
      await custody.set({ poolEscrowEnabled: true });
    }
  });

  it('leave nothing in the book of pools, and bring the rake to the house', async () => {
    await stake(poolId, 'b1', '100');
    const totals = async () => {
      const path = `/portal/app/${custody.app.appId}/test/totals`;
      const items = (await custody.world.client.get(path)).json.items as readonly Record<string, string>[];
      return items.find(({ currency }) => currency === 'CHIP');
    };
    const before = BigInt((await totals())?.house ?? 0);
    requireStatus(await settle({ poolId, rake: '100' }), 200);
    const after = await eventually('the rows have the settlement', async () => {
      const now = await totals();
      return now?.pools === '0' && BigInt(now.house ?? 0) > before ? now : undefined;
    });
    expect(BigInt(after.house ?? 0) - before).to.equal(100n);
  });
});
