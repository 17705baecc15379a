/**
 * The consumer of the read models, killed before and after every statement that it sends. Source:
 * architecture, Projections and reconcile (rows and checkpoint stand or fall together).
 */

import { type Consumer, type ConsumerAlarm, readCheckpoint } from '@coffer/consumers';
import { type Pool, withTransaction } from '@coffer/database';
import { type Death, doomedPool } from '@coffer/database/testing';
import { createCommandHandler, type EventStore, type RecordedEvent } from '@coffer/event-store';
import { openStoreOf, requireStatus, setUpApp, textOf } from '@coffer/host/testing';
import { createMoves, treasuryMovePlace } from '@coffer/moves';
import { depositOf } from '@coffer/moves/testing';
import { createReadSchema, READ_MODELS_CONSUMER } from '@coffer/read-models';
import { expireLeases, type Rows, rowsOf, startReadModels } from '@coffer/read-models/testing';
import { eventually, patiently } from '@coffer/testing';
import { expect } from 'chai';
import { CONTEXTS } from './contexts.ts';
import { freshRows } from './testing/readModels.ts';
import { startWorld, type World } from './testing/world.ts';

/** The log below is three of its pages, the last one not full. */
const PAGE_SIZE = 16;
const SCHEMA = 'doomed_read_models';

describe('the consumer of the read models, killed at any statement', () => {
  let world: World;
  let pool: Pool;
  let store: EventStore;
  let undisturbed: Rows;
  let statements: readonly string[];
  let alarms: ConsumerAlarm[];

  before(async () => {
    world = await startWorld({ roles: ['api'] });
    const { appId, test } = await setUpApp(world.client);
    const settings = { poolEscrowEnabled: true };
    requireStatus(await world.client.post(`/portal/app/${appId}/settings`, { settings }), 200);
    for (let session = 0; session < 3; session++) {
      const { sessionId } = await test.newSession('100');
      const bet = await test.bet({ sessionId, amount: '7' });
      await test.win({ sessionId, betTransactionUuid: textOf(bet, 'transactionUuid'), amount: '9' });
      if (session > 0) await test.settle({ sessionId });
    }
    const stake = { poolId: 'round-1', betId: 'bet-1' };
    const userId = await test.newPlayer('5');
    requireStatus(await test.post('/custody/lock', { ...stake, userId, currency: 2, amount: '5' }), 201);
    requireStatus(await test.post('/custody/confirm', stake), 200);
    const payouts = [{ betId: 'bet-1', userId, payout: '4' }];
    const end = { poolId: 'round-1', currency: 2, rake: '1', payouts };
    requireStatus(await test.post('/custody/settle', end), 200);
    const below = await test.newPlayer('1');
    const { code } = requireStatus(await test.post('/referrals/code', { userId }), 200).json;
    requireStatus(await test.post('/referrals/attribute', { userId: below, code }), 200);
    const commission = { currency: 2, amount: '100', levels: [1000] };
    requireStatus(
      await test.post('/referrals/distribute', { idemKey: 'd1', userId: below, ...commission }),
      200,
    );
    requireStatus(await test.post('/referrals/withdraw', { idemKey: 'w1', userId, currency: 2 }), 200);
    pool = world.pool;
    store = inFullPages(await openStoreOf(world.databaseUrl));
    const moves = createMoves({ handler: createCommandHandler({ store }), store });
    await moves.request(treasuryMovePlace('test', depositOf().appId, 'ref-1'), depositOf(), {
      metadata: { correlationId: 'spec', actor: 'key:1', occurredAt: depositOf().requestedAt },
      deadlineMs: patiently(),
    });
    undisturbed = await freshRows(world.databaseUrl);
    statements = await countStatements();
  });
  after(async () => {
    await store.close();
    await world.stop();
  });
  beforeEach(() => {
    alarms = [];
  });

  const start = (ofProcess: Pool): Consumer =>
    startReadModels({
      pool: ofProcess,
      store,
      schema: SCHEMA,
      projections: CONTEXTS.facts.projections,
      pageSize: PAGE_SIZE,
      minPageIntervalMs: 0,
      // Renewals may come between any statements; none is due before the end.
      leaseMs: 600_000,
      standbyPollMs: 5,
      firstRetryMs: 5,
      onAlarm: (alarm) => alarms.push(alarm),
      onTrouble() {},
    });

  const isLive = (consumer: Consumer) =>
    eventually('the consumer is live', () => consumer.status().state === 'live' || undefined);

  async function inNewSchema<Result>(work: () => Promise<Result>): Promise<Result> {
    await withTransaction(pool, (client) => createReadSchema(client, SCHEMA));
    try {
      return await work();
    } finally {
      await pool.query(`drop schema ${SCHEMA} cascade`);
    }
  }

  /** Of an undisturbed run, from taking the lease to releasing it. */
  const countStatements = () =>
    inNewSchema(async () => {
      const process = doomedPool(pool);
      const consumer = start(process.pool);
      await isLive(consumer);
      await consumer.stop();
      return process.statements;
    });

  /** The rows after the death and a successor's run; the checkpoint that the dead one left. */
  async function dieAndBeFollowed(death: Death, at: number) {
    return inNewSchema(async () => {
      const process = doomedPool(pool, death, at);
      const doomed = start(process.pool);
      await eventually(`statement ${at}`, () => process.isDead() || isDone(doomed));
      await doomed.stop();
      expect(process.isDead(), `statement ${at} was sent`).to.equal(true);
      const left = await readCheckpoint(pool, { schema: SCHEMA, name: READ_MODELS_CONSUMER });

      await expireLeases(pool, SCHEMA);
      const successor = start(pool);
      await isLive(successor);
      await successor.stop();
      return { rows: await rowsOf(pool, SCHEMA), left: left?.ordinal ?? 0 };
    });
  }
  /** The last statement releases the lease, so only a stop triggers it. */
  const isDone = (consumer: Consumer) => consumer.status().state === 'live' || undefined;

  it('is worth killing: it takes several pages, with rows of every table', () => {
    expect(statements.filter((text) => text === 'commit')).to.have.length(3);
    for (const [table, rows] of Object.entries(undisturbed)) expect(rows, table).not.to.deep.equal([]);
  });

  for (const death of ['before', 'after'] as const) {
    it(`leaves what its successor makes whole, when it dies just ${death} any of them`, async () => {
      const left = new Set<number>();
      for (let at = 1; at <= statements.length; at++) {
        const end = await dieAndBeFollowed(death, at);
        expect(end.rows, `${death} statement ${at}, ${statements[at - 1]}`).to.deep.equal(undisturbed);
        left.add(end.left);
      }
      const whole = Number(/,(\d+)\)$/.exec(undisturbed.consumers?.[0] ?? '')?.[1]);
      // Never between pages.
      expect([...left]).to.deep.equal([0, PAGE_SIZE, 2 * PAGE_SIZE, whole]);
      expect(alarms).to.deep.equal([]);
    });
  }
});

/** Otherwise the size of a page depends on what has arrived in time. */
const inFullPages = (store: EventStore): EventStore => ({
  ...store,
  async *subscribeToAll(options) {
    let page: readonly RecordedEvent[] = [];
    for await (const message of store.subscribeToAll(options)) {
      if (message.kind === 'events') {
        page = [...page, ...message.events];
        for (; page.length >= PAGE_SIZE; page = page.slice(PAGE_SIZE)) {
          yield { kind: 'events', events: page.slice(0, PAGE_SIZE) };
        }
        continue;
      }
      if (page.length > 0) yield { kind: 'events', events: page };
      page = [];
      yield message;
    }
  },
});
