/** A database, a log in memory, and consumers started on them. Called in a `describe`: each test has its own. */
import { randomBytes } from 'node:crypto';
import { migrate, type Pool } from '@coffer/database';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { type Consumer, type ConsumerAlarm, type ConsumerOptions, startConsumer } from '../consumer.ts';
import { createConsumersTable, readCheckpoint } from '../consumersTable.ts';
import type { Projection } from '../projecting.ts';
import { consumerMigrations } from '../stopsTable.ts';
import type { ConsumerWork } from '../work.ts';
import { type TestLog, testLog } from './testLog.ts';

export const SCHEMA = 'read_v1';
export const NAME = 'counting';

export function consumerWorld() {
  let database: TestDatabase;
  let pool: Pool;
  let log: TestLog;
  let running: Consumer[];
  const alarms: ConsumerAlarm[] = [];
  const troubles: unknown[] = [];

  beforeEach(async () => {
    database = await createTestDatabase({ name: 'consumers', prepare });
    pool = database.pool;
    log = testLog();
    running = [];
    alarms.length = 0;
    troubles.length = 0;
  });
  afterEach(async () => {
    await Promise.all(running.map((consumer) => consumer.stop()));
    await database.drop();
  });

  const writesRows = (writer = ''): Projection => ({
    async apply(db, events) {
      const positions = events.map(({ position }) => position);
      await db.query(`insert into ${SCHEMA}.seen select unnest($1::integer[]), $2`, [positions, writer]);
    },
  });

  return {
    alarms,
    troubles,
    get pool() {
      return pool;
    },
    get connectionString() {
      return database.connectionString;
    },
    get log() {
      return log;
    },
    /** One row per event, so that the database refuses one applied twice. */
    writesRows,
    start(work: ConsumerWork, more: Partial<ConsumerOptions> = {}): Consumer {
      const consumer = startConsumer({
        name: NAME,
        schema: SCHEMA,
        pool,
        store: log.store,
        work,
        onAlarm: (alarm) => alarms.push(alarm),
        onTrouble: ({ error }) => troubles.push(error),
        pageSize: 10,
        standbyPollMs: 5,
        firstRetryMs: 5,
        ...more,
      });
      running.push(consumer);
      return consumer;
    },
    checkpoint: async () => (await readCheckpoint(pool, { schema: SCHEMA, name: NAME }))?.position,
    rows: async () =>
      (await pool.query(`select position, writer from ${SCHEMA}.seen order by position`)).rows.map(
        ({ position, writer }) => `${position} ${writer}`.trim(),
      ),
  };
}

/** Projections that cannot get past event 3. */
export const POISONS = {
  'an event that its projection throws on': {
    async apply(_db, events) {
      if (events.some(({ revision }) => revision === 3)) throw new Error('unheard of');
    },
  },
  'an event whose rows the database refuses': {
    async apply(db, events) {
      const values = events.map(({ revision }) => (revision === 3 ? 'many' : '1'));
      await db.query('select count(amount::numeric) from unnest($1::text[]) as amount', [values]);
    },
  },
  'an event whose row is too large for its index': {
    async apply(db, events) {
      const notes = events.map(({ revision }) => (revision === 3 ? randomBytes(5_000).toString('hex') : ''));
      await db.query(`insert into ${SCHEMA}.indexed select unnest($1::text[]) on conflict do nothing`, [
        notes,
      ]);
    },
  },
} satisfies Record<string, Projection>;

async function prepare(pool: Pool): Promise<void> {
  await pool.query(`create schema ${SCHEMA}`);
  await createConsumersTable(pool, SCHEMA);
  await migrate(pool, [consumerMigrations]);
  await pool.query(`create table ${SCHEMA}.seen (position integer primary key, writer text not null)`);
  await pool.query(`create table ${SCHEMA}.indexed (note text primary key)`);
}
