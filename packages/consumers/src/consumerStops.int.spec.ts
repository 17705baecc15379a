/** Consumers that have stopped for good: how it is told, and how they go on behind an event that is skipped. */

import { createPool, migrate, type Pool } from '@coffer/database';
import { createTestDatabase, type TestDatabase, until } from '@coffer/testing';
import { expect } from 'chai';
import { type Consumer, type ConsumerOptions, startConsumer } from './consumer.ts';
import { createConsumersTable, listConsumers, readCheckpoint } from './consumersTable.ts';
import { holdProjections } from './heldProjections.ts';
import { type Projection, projecting } from './projecting.ts';
import { reacting } from './reacting.ts';
import type { Reaction } from './reaction.ts';
import type { SkipLookup } from './skipLookup.ts';
import { consumerMigrations } from './stopsTable.ts';
import { placeOf, type TestLog, testLog } from './testing.ts';
import type { ConsumerWork } from './work.ts';

const SCHEMA = 'read_v1';
const NAME = 'counting';

describe('a consumer that has stopped for good', () => {
  let database: TestDatabase;
  let pool: Pool;
  let log: TestLog;
  let running: Consumer[];

  beforeEach(async () => {
    database = await createTestDatabase({ name: 'stopped consumers', prepare });
    pool = createPool({ ...database, applicationName: 'spec', onIdleError() {} });
    log = testLog();
    running = [];
  });
  afterEach(async () => {
    await Promise.all(running.map((consumer) => consumer.stop()));
    await pool.end();
    await database.drop();
  });

  function start(work: ConsumerWork, more: Partial<ConsumerOptions> = {}): Consumer {
    const consumer = startConsumer({
      name: NAME,
      schema: SCHEMA,
      pool,
      store: log.store,
      work,
      onAlarm() {},
      onTrouble() {},
      pageSize: 10,
      standbyPollMs: 5,
      firstRetryMs: 5,
      ...more,
    });
    running.push(consumer);
    return consumer;
  }
  const checkpoint = async () => (await readCheckpoint(pool, { schema: SCHEMA, name: NAME }))?.position;
  const positions = async () => {
    const { rows } = await pool.query<{ position: number }>(`select position from ${SCHEMA}.seen order by 1`);
    return rows.map(({ position }) => position).join('');
  };

  const poisons: Record<string, Projection> = {
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
  };

  it('tells every process where it has stopped and why, until another runner begins', async () => {
    log.append(8);
    const poison = projecting([writesRows, poisons['an event that its projection throws on'] as Projection]);
    const consumer = start(poison);
    const stopped = async () =>
      (await listConsumers(pool, SCHEMA)).find(({ name }) => name === NAME)?.stopped;
    await until(async () => (await stopped()) !== undefined);
    const { at, ...told } = (await stopped()) ?? {};
    expect(at).to.be.instanceOf(Date);
    expect(told).to.deep.equal({
      code: 'consumer/poison_event',
      reason: 'consumer/poison_event: Happened at revision 3 of things cannot be taken: unheard of',
      event: { stream: 'things', revision: 3, type: 'Happened', id: 'event 3', position: '4' },
    });
    await consumer.stop();
    const begun = Promise.withResolvers<void>();
    const goesOn = Promise.withResolvers<void>();
    start(
      projecting([
        {
          async apply() {
            begun.resolve();
            await goesOn.promise;
          },
        },
      ]),
    );
    await begun.promise;
    expect(await stopped()).to.equal(undefined);
    goesOn.resolve();
  });

  for (const [poison, projection] of Object.entries(poisons)) {
    it(`goes on behind ${poison} once it is told to skip it, and nothing else`, async () => {
      log.append(8);
      const skipped = new Set<string>();
      const passed: string[] = [];
      const work = () =>
        projecting([{ ...writesRows, pass: async (_db, { id }) => void passed.push(id) }, projection]);
      const isSkipped: SkipLookup = async (name, { id }) => name === NAME && skipped.has(id);
      const consumer = start(work(), { isSkipped });
      // Another, as on another node, which stands by until the first has stopped, and stops there as well.
      const other = start(work(), { isSkipped });
      await until(() => [consumer, other].every((one) => one.status().state === 'stopped'));
      skipped.add('event 5');
      skipped.add('event 3');
      log.append(1);
      await until(async () => (await checkpoint()) === '9');
      expect(passed).to.deep.equal(['event 3']);
      expect(await positions()).to.equal('12356789');
      await until(() => [consumer, other].some((one) => one.status().state === 'live'));
      expect((await readCheckpoint(pool, { schema: SCHEMA, name: NAME }))?.ordinal).to.equal(9);

      // A filling that is made anew passes over it as well.
      await pool.query(`truncate ${SCHEMA}.seen`);
      const held = await holdProjections({
        pool,
        store: log.store,
        key: { schema: SCHEMA, name: 'another filling' },
        projections: [writesRows, projection],
        isSkipped: async (_name, { id }) => skipped.has(id),
      });
      await held.advance(placeOf(9), { signal: new AbortController().signal });
      expect(await positions()).to.equal('12356789');
      expect(held.checkpoint()?.ordinal).to.equal(9);
    });
  }

  it('takes an event with all its reactions or skips it as a whole', async () => {
    const seen: string[] = [];
    const takesAll: Reaction = {
      name: 'take everything',
      causeOf: ({ id }) => ({ key: id, target: id }),
      effectOf: () => undefined,
      act: async ({ id }) => void seen.push(id),
    };
    const isGarbled: Reaction = {
      ...takesAll,
      name: 'take what it understands',
      causeOf({ type }) {
        if (type === 'Garbled') throw new Error('no such event');
        return undefined;
      },
    };
    log.append(1, 'Garbled');
    log.append(1);
    start(reacting([takesAll, isGarbled], { graceMs: 0, saveEveryMs: 5 }), {
      isSkipped: async (_name, { id }) => id === 'event 0',
    });
    await until(() => seen.length > 0);
    expect(seen).to.deep.equal(['event 1']);
  });
});

async function prepare(connectionString: string): Promise<void> {
  const pool = createPool({ connectionString, applicationName: 'spec', onIdleError() {} });
  await pool.query(`create schema ${SCHEMA}`);
  await createConsumersTable(pool, SCHEMA);
  await migrate(pool, [consumerMigrations]);
  await pool.query(`create table ${SCHEMA}.seen (position integer primary key)`);
  await pool.end();
}

/** One row per event, so that one applied twice is refused by the database. */
const writesRows: Projection = {
  async apply(db, events) {
    const values = [events.map(({ position }) => position)];
    await db.query(`insert into ${SCHEMA}.seen select unnest($1::integer[])`, values);
  },
};
