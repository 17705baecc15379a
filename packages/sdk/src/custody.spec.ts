import { expect } from 'chai';
import {
  answers,
  backendOf,
  failureOf,
  losesTheReply,
  refuses,
  rejectionOf,
} from './testing/scriptedService.ts';

const stake = { poolId: 'p', betId: 'b', userId: 'usr_a', currency: 2, amount: '40' };
const open = {
  poolId: 'p',
  currency: 2,
  status: 'open',
  staked: '40',
  confirmed: '0',
  locked: '40',
  credits: { done: 0, of: 0 },
};
const settled = { ...open, status: 'settled', confirmed: '40', locked: '0' };
const crediting = { ...settled, credits: { done: 1, of: 3 } };
const credited = { ...settled, credits: { done: 3, of: 3 } };

describe('a custody call of the backend client', () => {
  it('sends amounts as text, also inside a list, and reads them as bigint', async () => {
    const body = { poolId: 'p', status: 'settled', staked: '40', rake: '1', paid: '39', released: ['c'] };
    const paid = [{ betId: 'b', userId: 'usr_a', payout: '39' }];
    const { client, sent } = backendOf([answers({ ...body, payouts: paid })]);
    const payouts = [{ betId: 'b', userId: 'usr_a', payout: 39n }];
    const answer = await client.custody.settle({ poolId: 'p', currency: 2, rake: 1n, payouts });
    expect(answer).to.deep.equal({ ...body, staked: 40n, rake: 1n, paid: 39n, payouts, replayed: false });
    expect(sent.map(({ method, path, body: asked }) => [method, path, asked])).to.deep.equal([
      ['POST', '/v1/custody/settle', { poolId: 'p', currency: 2, rake: '1', payouts: paid }],
    ]);
  });

  it('is sent again until it is answered, and says when it had acted before', async () => {
    const locked = { ...stake, status: 'locked', confirmBy: '2030-01-01T12:00:00.000Z' };
    const { client, sent } = backendOf([
      losesTheReply,
      refuses(503, 'service/outcome_unknown'),
      answers(locked, 201, { 'idempotency-replayed': 'true' }),
    ]);
    const answer = await client.custody.lock({ ...stake, amount: 40n });
    expect(answer).to.deep.equal({ ...locked, amount: 40n, replayed: true });
    expect(sent.map(({ body }) => body)).to.deep.equal(Array(3).fill(stake));
  });

  it('leaves a refusal to the caller', async () => {
    const { client } = backendOf([refuses(409, 'custody/pool_closed', { status: 'settled' })]);
    const failure = await failureOf(client.custody.refund({ poolId: 'p', reason: 'rain' }));
    expect(failure).to.deep.include({
      code: 'custody/pool_closed',
      details: { status: 'settled' },
      outcome: 'refused',
    });
  });

  it('never sends an invalid amount', async () => {
    const { client, sent } = backendOf([answers({})]);
    const payouts = [{ betId: 'b', userId: 'usr_a', payout: -1n }];
    const promise = client.custody.settle({ poolId: 'p', currency: 2, rake: 0n, payouts });
    expect(await rejectionOf(promise)).to.be.instanceOf(RangeError);
    expect(sent).to.have.length(0);
  });

  it('reads what a reconciliation has given back', async () => {
    const released = [{ poolId: 'p', betId: 'b', userId: 'usr_a', amount: '40' }];
    const { client, sent } = backendOf([answers({ released })]);
    const given = [{ ...released[0], amount: 40n }];
    expect(await client.custody.reconcile({ olderThanSeconds: 60 })).to.deep.equal(given);
    expect(await client.custody.reconcile()).to.deep.equal(given);
    expect(sent.map(({ path, body }) => [path, body])).to.deep.equal([
      ['/v1/custody/reconcile', { olderThanSeconds: 60 }],
      ['/v1/custody/reconcile', {}],
    ]);
  });

  it('asks for pages by their query', async () => {
    const { client, sent } = backendOf([answers({ items: [], nextCursor: null })]);
    await client.custody.pools({ status: 'open', currency: 2, limit: 5 });
    await client.custody.stakes('p', { status: 'confirmed', cursor: 'c' });
    await client.custody.pools();
    expect(sent.map(({ path }) => path)).to.deep.equal([
      '/v1/custody/pools?status=open&currency=2&limit=5',
      '/v1/custody/pools/p/stakes?status=confirmed&cursor=c',
      '/v1/custody/pools',
    ]);
  });
});

describe('waiting for the credits of a pool', () => {
  it('looks until every stake is credited', async () => {
    const { client, sent, timing } = backendOf([
      answers(open),
      losesTheReply,
      answers(crediting),
      answers(credited),
    ]);
    const pool = await client.custody.waitForCredits('p', { pollMs: 250 });
    expect(pool).to.deep.include({ status: 'settled', credits: { done: 3, of: 3 }, staked: 40n });
    expect(new Set(sent.map(({ path }) => path))).to.deep.equal(new Set(['/v1/custody/pools/p']));
    expect(timing.slept.filter((ms) => ms === 250)).to.have.length(2);
  });

  it('ends at once for a pool that owed nobody anything', async () => {
    const { client } = backendOf([answers({ ...settled, credits: { done: 0, of: 0 } })]);
    expect((await client.custody.waitForCredits('p')).status).to.equal('settled');
  });

  it('says at its deadline how far it has come', async () => {
    const { client } = backendOf([answers(crediting)]);
    const failure = await failureOf(client.custody.waitForCredits('p', { deadlineMs: 5_000 }));
    expect(failure).to.deep.include({
      code: 'sdk/not_credited',
      details: { poolId: 'p', status: 'settled', credits: { done: 1, of: 3 } },
      retryable: true,
    });
  });
});
