import { consumerMigrations, createConsumersTable, projecting, startConsumer } from '@coffer/consumers';
import { migrate, type Pool } from '@coffer/database';
import type { EventStore } from '@coffer/event-store';
import { createPostgresEventStore, logMigrations } from '@coffer/event-store/postgres';
import { createTestDatabase, type TestDatabase, until } from '@coffer/testing';
import { expect } from 'chai';
import { readChainHead } from './blocksTable.ts';
import { CHAIN_CONSUMER, chainProjection } from './chainProjection.ts';
import { createLogScrub } from './logScrub.ts';
import { auditMigrations } from './migrations.ts';
import { logOf, rules } from './testing/tamperedLog.ts';

const BLOCK = 10;
const EVENTS = 40;
const { signal } = new AbortController();

/** Four streams that all begin in the first block and end in the last. */
describe('the scrub of a log', () => {
  let database: TestDatabase;
  let pool: Pool;
  let store: EventStore;

  beforeEach(async () => {
    database = await createTestDatabase({ name: 'logscrub', prepare });
    pool = database.pool;
    store = createPostgresEventStore({
      connectionString: database.connectionString,
      applicationName: 'spec log',
    });
    for (const { stream, ...event } of logOf(Array.from({ length: EVENTS }, (_, index) => index % 4))) {
      await store.append({ stream, expectedRevision: 'any', events: [event] });
    }
    await writeChain();
  });
  afterEach(async () => {
    await store.close();
    await database.drop();
  });

  it('verifies one stretch after another, each from the place that the one before it reached', async () => {
    const { end, faults } = await scrub().end();
    if (!end) return expect.fail('The chain has an end.');
    expect(faults).to.deep.equal([]);
    await pool.query(`update log.events set data = '{}' where position = 35`);
    const stretches: (readonly [reached: number, faulty: readonly number[]])[] = [];
    for (let place: typeof end | undefined; place?.ordinal !== end.ordinal; ) {
      // Another process each time: it knows nothing but the place.
      const { reached, faults } = await scrub().stretch(place, end, { events: BLOCK, signal, rest });
      stretches.push([reached.ordinal, [...new Set(faults.map(({ ordinal }) => ordinal))]]);
      place = reached;
    }
    expect(stretches).to.deep.equal([
      [10, []],
      [20, []],
      [30, []],
      [40, [35]],
    ]);
  });

  it('rests at each page, also of streams that it folds beyond the stretch', async () => {
    const steps: string[] = [];
    async function* noting(what: string, pages: ReturnType<EventStore['readStream']>) {
      for await (const page of pages) {
        steps.push(what);
        yield page;
      }
    }
    const noted = scrub({
      ...store,
      readAll: (options) => noting('page of the log', store.readAll(options)),
      readStream: (...of) => noting('page of a stream', store.readStream(...of)),
    });
    const { end } = await noted.end();
    if (!end) return expect.fail('The chain has an end.');
    const rests = async () => void steps.push('rest');
    await noted.stretch(undefined, end, { events: BLOCK, signal, rest: rests });
    const streams = Array.from({ length: 4 }, () => ['page of a stream', 'rest']);
    expect(steps).to.deep.equal(['rest', 'page of the log', 'rest', ...streams.flat()]);
  });

  const rest = async () => {};

  const scrub = (log: EventStore = store) =>
    createLogScrub({ db: pool, store: { ...log, whole: log }, rules, snapshots: undefined });

  async function writeChain(): Promise<void> {
    const consumer = startConsumer({
      ...CHAIN_CONSUMER,
      pool,
      store,
      work: projecting([chainProjection()]),
      onAlarm: (alarm) => expect.fail(`${alarm}`),
      onTrouble: ({ error }) => expect.fail(`${error}`),
      pageSize: BLOCK,
      minPageIntervalMs: 0,
    });
    await until(async () => (await readChainHead(pool))?.ordinal === EVENTS);
    await consumer.stop();
  }
});

async function prepare(pool: Pool): Promise<void> {
  await migrate(pool, [logMigrations, auditMigrations, consumerMigrations]);
  await createConsumersTable(pool, 'records');
}
