/**
 * The log alone restored to an older state, under a running service and under one that starts: everything else has
 * seen events that never happened. Source: architecture, Consumers (`store/log_rewritten`).
 */
import type { Pool } from '@coffer/database';
import { migrateAll } from '@coffer/host';
import {
  type Answer,
  type AppPlace,
  consumerMetric,
  errorLines,
  requireStatus,
  setUpApp,
  textOf,
} from '@coffer/host/testing';
import { describeLogTable, eventually } from '@coffer/testing';
import { expect } from 'chai';
import { CONTEXTS } from './contexts.ts';
import { resetConsumers } from './resetConsumers.ts';
import { expectBooksToBalance } from './testing/books.ts';
import { CONSUMERS } from './testing/consumers.ts';
import { caughtUpRows, freshRows, holdsCaughtUp } from './testing/readModels.ts';
import { startNode, startWorld, type World } from './testing/world.ts';

describeLogTable('its last rows are removed', 'a service whose log is put back to an older state', () => {
  let world: World;
  let pool: Pool;
  let place: AppPlace;
  /** In the remaining log: a session in the middle of its play. */
  let kept: { readonly userId: string; readonly sessionId: string };
  /** The last remaining event is a hold whose session is lost. */
  let cut: { readonly userId: string; readonly transactionUuid: string };
  let lostCredit: { readonly userId: string; readonly ref: string };
  let lostWin: { readonly request: object; readonly answer: Answer };
  let lost: number;

  const inNode = (node: Pick<World, 'client'>): AppPlace => ({
    ...place,
    post: (path, body, options) => node.client.post(path, body, { key: place.secretKey, ...options }),
    funds: async (userId) => {
      const admin = `/portal/app/${place.appId}/test/users/${userId}`;
      const answer = await node.client.get(`${admin}/accounts?currency=CHIP`);
      return { available: textOf(answer, 'available'), held: textOf(answer, 'held') };
    },
  });
  const readiness = async (url: string) => {
    const response = await fetch(`${url}/readyz`);
    return { status: response.status, text: await response.text() };
  };
  const expectAlarms = async (node: Pick<World, 'url' | 'logLines'>) => {
    await eventually('all consumers have stopped', async () => {
      const stopped = await consumerMetric(node.url, 'coffer_consumer_stopped');
      return CONSUMERS.every((name) => stopped[name] === 1) || undefined;
    });
    const alarms = errorLines(node.logLines);
    expect(alarms.map(({ consumer }) => consumer)).to.have.members([...CONSUMERS]);
    for (const { code } of alarms) expect(code).to.equal('store/log_rewritten');
    const { status, text } = await readiness(node.url);
    expect(status, text).to.equal(503);
    expect(text).to.include('put back to an older state');
  };

  before(async () => {
    world = await startWorld({ environment: { COFFER_REACTION_GRACE_MS: '0' } });
    pool = world.pool;
    place = (await setUpApp(world.client)).test;
    const over = await place.newSession('30');
    requireStatus(await place.settle({ sessionId: over.sessionId }), 200);
    kept = await place.newSession('100');
    const bet = requireStatus(await place.bet({ sessionId: kept.sessionId, amount: '7' }), 200);
    const betTransactionUuid = textOf(bet, 'transactionUuid');
    const userId = await place.newPlayer('40');
    const transactionUuid = crypto.randomUUID();
    requireStatus(await place.openSession({ userId, lockAmount: '40', transactionUuid }), 201);
    cut = { userId, transactionUuid };

    const win = { sessionId: kept.sessionId, transactionUuid: 'win-1', betTransactionUuid, amount: '50' };
    lostWin = { request: win, answer: requireStatus(await place.win(win), 200) };
    lostCredit = { userId, ref: 'lost' };
    await place.credit(userId, '5', 'lost');
    await caughtUpRows(world.databaseUrl);
    await holdsCaughtUp(world.databaseUrl);
    await chainCaughtUp(world);
    await placesSaved();

    const { rowCount } = await pool.query(
      `delete from log.events where position >
         (select position from log.events where type = 'FundsHeld' order by position desc limit 1)`,
    );
    lost = Number(rowCount);
  });
  after(() => world.stop());

  it('stops its consumers, says so, and is not ready', () => expectAlarms(world));

  it('does not repeat from memory an answer that the log has lost: the repeat acts again', async () => {
    const repeat = await place.win(lostWin.request as Record<string, unknown>);
    expect(repeat).to.include({ status: 200, replayed: false });
    expect(repeat.json).to.include({ balance: '143' });
    expect(await place.win(lostWin.request as Record<string, unknown>)).to.include({ replayed: true });
  });

  it('answers what is in the log, and nothing that it remembers of the lost', async () => {
    expect(lost).to.equal(3);
    expect(await place.funds(cut.userId)).to.deep.equal({ available: '0', held: '40' });
    expect((await place.balance(kept.sessionId)).json).to.include({ balance: '143' });
  });

  it('stops again at every start, also when the log has grown past where it was', async () => {
    for (let index = 0; index < lost + 1; index++) await place.newPlayer('1');
    const node = await startNode(world.databaseUrl);
    await expectAlarms(node);
    await node.stop();
  });

  it('refuses a reset while consumers run', async () => {
    const other = await startWorld();
    await eventually('its consumers run', async () => {
      const live = await consumerMetric(other.url, 'coffer_consumer_live');
      return CONSUMERS.every((name) => live[name] === 1) || undefined;
    });
    const refusal = await resetConsumers(other.pool).catch((error: unknown) => error);
    await other.stop();
    expect(String(refusal)).to.include('Stop every service first');
  });

  it("continues after a reset: its rows are the log's, and the process finishes what was cut off, once", async () => {
    const before = await eventTypes();
    const reset = await resetConsumers(pool);
    expect(reset.dropped).to.have.length(1);
    expect(reset.restarted).to.deep.equal(CONSUMERS.filter((name) => name !== 'readModels'));
    await migrateAll(pool, CONTEXTS.definitions);

    const node = await startNode(world.databaseUrl, { environment: { COFFER_REACTION_GRACE_MS: '0' } });
    await eventually(
      'the service is ready',
      async () => (await readiness(node.url)).status === 200 || undefined,
    );
    await eventually(
      'the cut-off session is open',
      async () => (await eventTypes()).length > before.length || undefined,
    );
    const own = inNode(node);
    // The caller of the cut-off request repeats it and gets the session that the process has opened.
    const { userId, transactionUuid } = cut;
    const body = { userId, lockAmount: '40', transactionUuid, gameCode: 'dice', currency: 'CHIP' };
    expect(await own.post('/ledger/sessions', body)).to.include({ status: 201, replayed: true });
    expect((await eventTypes()).slice(before.length)).to.deep.equal(['SessionOpened']);

    // The operator repeats the lost credit under its own reference, twice.
    const admin = `/portal/app/${place.appId}/test/users/${lostCredit.userId}/accounts/credit`;
    for (const _ of [1, 2]) {
      const credit = { currency: 'CHIP', amount: '5', ref: lostCredit.ref };
      requireStatus(await node.client.post(admin, credit), 200);
    }
    expect(await own.funds(userId)).to.deep.equal({ available: '5', held: '40' });

    const rows = await caughtUpRows(world.databaseUrl);
    await expectBooksToBalance(node.client);
    // The remaining log is chained anew; the old chain is kept, as it shows what was lost.
    await chainCaughtUp(node);
    const verified = (await node.client.lines('/portal/log/verification')).at(-1);
    expect(verified?.result).to.include({ ok: true, unchained: 0 });
    const aside = await pool.query(
      `select streams[cardinality(streams)] as stream from records.chain_blocks_set_aside
        order by last_ordinal desc limit 1`,
    );
    expect(aside.rows[0]?.stream).to.include(lostCredit.userId);
    await node.stop();
    expect(errorLines(node.logLines)).to.deep.equal([]);
    expect(rows).to.deep.equal(await freshRows(world.databaseUrl));
  });

  const chainCaughtUp = ({ client }: Pick<World, 'client'>) =>
    eventually('the log is chained', async () => {
      const { json } = await client.get('/portal/audit/head');
      return json.lagEvents === 0 || undefined;
    });

  /** A consumer whose saved place is not among what is lost would go on from there at its next start. */
  const placesSaved = () =>
    eventually('reactions have saved places that will be lost', async () => {
      const { rows } = await pool.query(
        `select name from records.consumers where coalesce(position::bigint, 0) <=
           (select max(position) from log.events where type = 'FundsHeld')`,
      );
      return rows.length === 0 || undefined;
    });

  async function eventTypes(): Promise<readonly string[]> {
    const { rows } = await pool.query<{ type: string }>('select type from log.events order by position');
    return rows.map(({ type }) => type);
  }
});
