import { randomUUID } from 'node:crypto';
import { accountEvents, accountStreamOf, cashOutHoldId } from '@coffer/accounts';
import { type Consumer, consumerMigrations, createConsumersTable, forgetPlace } from '@coffer/consumers';
import { migrate, type Pool } from '@coffer/database';
import type { EventStore } from '@coffer/event-store';
import { createPostgresEventStore, logMigrations } from '@coffer/event-store/postgres';
import { encodeMetadata, newId } from '@coffer/kernel';
import { moveEvents, moveStreamName, treasuryMovePlace } from '@coffer/moves';
import { portalMigrations } from '@coffer/portal';
import { createTestDatabase, type TestDatabase, until } from '@coffer/testing';
import { type UserEvent, userEvents } from '@coffer/users';
import { expect } from 'chai';
import { EMITTER_CONSUMER, startEmitter } from './emitter.ts';
import { webhookMigrations } from './migrations.ts';
import { pruneSome } from './retention.ts';

const AT = '2026-01-02T03:04:05.678Z';

describe('the emitter', () => {
  let database: TestDatabase;
  let pool: Pool;
  let store: EventStore;
  let running: Consumer[];
  let alarms: unknown[];
  let scopeId: string;
  let appId: string;

  beforeEach(async () => {
    database = await createTestDatabase({ name: 'webhooks emitter', prepare });
    pool = database.pool;
    store = createPostgresEventStore({
      connectionString: database.connectionString,
      applicationName: 'spec log',
    });
    running = [];
    alarms = [];
    scopeId = newId('scp');
    appId = await newApp();
  });
  afterEach(async () => {
    await Promise.all(running.map((emitter) => emitter.stop()));
    await store.close();
    await database.drop();
    expect(alarms).to.deep.equal([]);
  });

  async function newApp(): Promise<string> {
    const id = newId('app');
    const end = await store.head();
    await pool.query(
      `insert into records.apps (app_id, name, scope_id, created_at, joined_position, joined_event_id)
       values ($1, 'Arcade', $2, now(), $3, $4)`,
      [id, scopeId, end?.position, end?.eventId],
    );
    return id;
  }

  const start = (pageSize = 2_000): Consumer => {
    const emitter = startEmitter({
      pool,
      store,
      moves: store,
      onAlarm: (alarm) => alarms.push(alarm),
      onTrouble() {},
      pageSize,
      minPageIntervalMs: 0,
      standbyPollMs: 5,
      firstRetryMs: 5,
    });
    running.push(emitter);
    return emitter;
  };

  const registered = (userId: string): UserEvent => ({
    type: 'UserRegistered',
    data: { userId, appId, registeredAt: AT },
  });
  const suspended: UserEvent = { type: 'UserSuspended', data: {} };
  const reinstated: UserEvent = { type: 'UserReinstated', data: {} };

  const append = (environment: 'test' | 'live', userId: string, ...events: readonly UserEvent[]) =>
    appendTo(`user-${environment}.${scopeId}.${userId}`, ...events.map((event) => userEvents.encode(event)));
  const appendTo = (stream: string, ...events: readonly ReturnType<typeof userEvents.encode>[]) =>
    store.append({
      stream,
      expectedRevision: 'any',
      events: events.map(({ type, data, schemaVersion }) => {
        const metadata = { correlationId: 'req-1', actor: 'operator', occurredAt: AT };
        return { id: randomUUID(), type, data, metadata: encodeMetadata(metadata, schemaVersion) };
      }),
    });
  const register = async (count: number, environment: 'test' | 'live' = 'test') => {
    for (let number = 0; number < count; number++) {
      const userId = newId('usr');
      await append(environment, userId, registered(userId));
    }
  };

  const caughtUp = () =>
    until(async () => {
      const head = await store.head();
      return running.some(({ status }) => status().state === 'live' && status().position === head?.position);
    });

  /** Everything that was told, in order. */
  const emitted = async (app = appId) =>
    (
      await pool.query<{ sequence: number; id: string; body: string }>(
        `select sequence::integer, event_id as id, body from records.webhook_events where app_id = $1
         order by sequence`,
        [app],
      )
    ).rows;
  const numbers = async (app = appId) => (await emitted(app)).map(({ sequence }) => sequence);

  const subscribe = async (
    id: string,
    {
      events = null,
      environment = null,
      state = 'enabled',
    }: {
      events?: readonly string[] | null;
      environment?: string | null;
      state?: 'enabled' | 'disabled';
    } = {},
  ) =>
    pool.query(
      `insert into records.webhook_subscriptions (subscription_id, app_id, url, events, environment, state,
         disabled_reason, secret, created_at, updated_at)
       values ($1, $2, 'https://example.com', $3, $4, $5, $6, '{}', now(), now())`,
      [id, appId, events, environment, state, state === 'disabled' ? 'requested' : null],
    );
  const deliveries = async (id: string) =>
    (
      await pool.query<{ sequence: number; previous: number | null }>(
        `select sequence::integer, previous_sequence::integer as previous from records.webhook_deliveries
          where subscription_id = $1 order by sequence`,
        [id],
      )
    ).rows.map(({ sequence, previous }) => [sequence, previous]);

  it('numbers the facts of an app from 1, in the order of the log, over both environments', async () => {
    const userId = newId('usr');
    await append('test', userId, registered(userId), suspended, reinstated, suspended);
    await register(1, 'live');
    start();
    await caughtUp();
    const told = (await emitted()).map(({ body }) => JSON.parse(body));
    expect(told.map(({ sequence, type, environment }) => [sequence, type, environment])).to.deep.equal([
      [1, 'user.created', 'test'],
      [2, 'user.suspended', 'test'],
      [3, 'user.suspended', 'test'],
      [4, 'user.created', 'live'],
    ]);
    expect(told[0]).to.deep.equal({
      id: (await emitted())[0]?.id,
      type: 'user.created',
      createdAt: AT,
      appId,
      environment: 'test',
      sequence: 1,
      data: { id: userId, environment: 'test' },
    });
  });

  it('tells every app of the scope, and an app that joins later only what comes after', async () => {
    await register(2);
    start();
    await caughtUp();
    const later = await newApp();
    await register(3);
    await caughtUp();
    expect(await numbers()).to.deep.equal([1, 2, 3, 4, 5]);
    expect(await numbers(later)).to.deep.equal([1, 2, 3]);
    // Also when it reads all of it again.
    await Promise.all(running.splice(0).map((emitter) => emitter.stop()));
    await forgetPlace(pool, EMITTER_CONSUMER);
    start();
    await caughtUp();
    expect(await numbers(later)).to.deep.equal([1, 2, 3]);
  });

  it('tells an app that joins while it is behind only what comes after, however much it reads at once', async () => {
    for (const pageSize of [1, 4, 2_000]) {
      await register(3);
      const later = await newApp();
      await register(2);
      start(pageSize);
      await caughtUp();
      expect(await numbers(later), String(pageSize)).to.deep.equal([1, 2]);
      await running.pop()?.stop();
    }
    expect(await numbers()).to.have.length(15);
  });

  it('tells an app that has joined only what comes after, also when it reads the log again before that', async () => {
    start();
    await register(2);
    await caughtUp();
    await running.pop()?.stop();
    const later = await newApp();
    await forgetPlace(pool, EMITTER_CONSUMER);
    start();
    await caughtUp();
    await register(1);
    await caughtUp();
    expect(await numbers(later)).to.deep.equal([1]);
  });

  it('begins with what it reads next for an app whose place is not in this log', async () => {
    const later = await newApp();
    await pool.query(
      `update records.apps set joined_position = '7', joined_event_id = $2 where app_id = $1`,
      [later, randomUUID()],
    );
    await register(9);
    start();
    await caughtUp();
    expect(await numbers(later)).to.have.length(9);
  });

  it('tells a move of the treasury once it is booked, in words that no release changes', async () => {
    const userId = newId('usr');
    const move = { key: 'ref-1', appId, userId, currencyId: 2, amount: 5n } as const;
    const place = treasuryMovePlace('test', appId, move.key);
    const chain = { signature: 'Sig', slot: 7n };
    start();
    await appendTo(
      moveStreamName(place),
      moveEvents.encode({
        type: 'MoveFailed',
        data: { ...move, ...chain, operation: 'cashOut', code: 'moves/failed_on_chain' },
      }),
    );
    await caughtUp();
    expect(await numbers()).to.deep.equal([]);
    const hold = { holdId: cashOutHoldId(move.key), held: 5n, payout: 5n };
    const account = accountStreamOf({ environment: 'test', appId, userId, currencyId: 2 });
    await appendTo(account, accountEvents.encode({ type: 'HoldClosed', data: hold }));
    await caughtUp();
    const [told] = await emitted();
    const data = `{"id":"${place.moveId}","ref":"ref-1","kind":"withdraw","userId":"${userId}","currency":2,"amount":"5","signature":"Sig","environment":"test","code":null,"error":{"code":"moves/failed_on_chain","message":"The transfer was executed and failed. Only its fee was moved."}}`;
    expect(told?.body).to.equal(
      `{"id":"${told?.id}","type":"withdrawal.failed","createdAt":"${AT}","appId":"${appId}","environment":"test","sequence":1,"data":${data}}`,
    );
  });

  it('gives each subscription what matches it, each with the number of the one before', async () => {
    await subscribe('whk_all');
    await subscribe('whk_suspensions', { events: ['user.suspended'] });
    await subscribe('whk_live', { environment: 'live' });
    await subscribe('whk_off', { state: 'disabled' });
    const userId = newId('usr');
    start();
    await append('test', userId, registered(userId), suspended);
    await caughtUp();
    await append('live', userId, registered(userId), suspended);
    await caughtUp();
    expect(await deliveries('whk_all')).to.deep.equal([
      [1, null],
      [2, 1],
      [3, 2],
      [4, 3],
    ]);
    expect(await deliveries('whk_suspensions')).to.deep.equal([
      [2, null],
      [4, 2],
    ]);
    expect(await deliveries('whk_live')).to.deep.equal([
      [3, null],
      [4, 3],
    ]);
    expect(await deliveries('whk_off')).to.deep.equal([]);
    // Once it is enabled, its receiver sees that it has missed the fourth.
    await pool.query(
      `update records.webhook_subscriptions set state = 'enabled', disabled_reason = null
        where subscription_id = 'whk_off'`,
    );
    await register(1);
    await caughtUp();
    expect(await deliveries('whk_off')).to.deep.equal([[5, 4]]);
  });

  it('gives the same facts the same numbers, ids and texts after a restore of the records', async () => {
    await subscribe('whk_all');
    start();
    await register(3);
    await caughtUp();
    await running.pop()?.stop();
    const tables = ['webhook_sequences', 'webhook_events', 'webhook_deliveries', 'consumers'];
    for (const table of tables) await pool.query(`create table saved_${table} as table records.${table}`);
    const { rows: matched } = await pool.query(`select last_matched from records.webhook_subscriptions`);
    start();
    await register(4);
    await caughtUp();
    const before = await emitted();
    const sent = await deliveries('whk_all');
    await running.pop()?.stop();

    for (const table of tables) {
      await pool.query(`delete from records.${table}`);
      await pool.query(`insert into records.${table} table saved_${table}`);
    }
    await pool.query(`update records.webhook_subscriptions set last_matched = $1`, [
      matched[0]?.last_matched,
    ]);
    expect(await numbers()).to.deep.equal([1, 2, 3]);
    start(2);
    await caughtUp();
    expect(await emitted()).to.deep.equal(before);
    expect(await deliveries('whk_all')).to.deep.equal(sent);
  });

  it('gives a fact whose event is no longer kept no second number when it reads the log again', async () => {
    start();
    await register(3);
    await caughtUp();
    await running.pop()?.stop();
    expect(await pruneSome(pool, appId, new Date())).to.equal(3);
    await forgetPlace(pool, EMITTER_CONSUMER);
    start();
    await register(1);
    await caughtUp();
    expect(await numbers()).to.deep.equal([4]);
  });

  it('three of them, broken off again and again, number every fact once', async () => {
    await subscribe('whk_all');
    for (let count = 0; count < 3; count++) start(7);
    const facts = 600;
    let breaks = 0;
    const registering = register(facts);
    let isOver = false;
    void registering.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      // As after kill -9: its connection ends in the middle of anything, and nobody gives the lease back.
      await pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() and query like '%webhook_%'`,
      );
      const { rowCount } = await pool.query(
        `update records.consumers set leased_until = clock_timestamp() - interval '1 second' where name = $1`,
        [EMITTER_CONSUMER.name],
      );
      breaks += rowCount ?? 0;
    }
    await registering;
    await until(async () => (await numbers()).length === facts);
    expect(breaks).to.be.greaterThan(20);
    const dense = Array.from({ length: facts }, (_, index) => index + 1);
    expect(await numbers()).to.deep.equal(dense);
    expect(new Set((await emitted()).map(({ body }) => JSON.parse(body).data.id)).size).to.equal(facts);
    expect(await deliveries('whk_all')).to.deep.equal(
      dense.map((sequence) => [sequence, sequence === 1 ? null : sequence - 1]),
    );
  }).timeout(60_000);
});

async function prepare(pool: Pool): Promise<void> {
  await migrate(pool, [logMigrations, portalMigrations, consumerMigrations, webhookMigrations]);
  await createConsumersTable(pool, 'records');
}
