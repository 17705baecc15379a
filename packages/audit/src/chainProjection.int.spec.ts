import { randomUUID } from 'node:crypto';
import {
  type Consumer,
  type ConsumerAlarm,
  consumerMigrations,
  createConsumersTable,
  type Projection,
  projecting,
  startConsumer,
} from '@coffer/consumers';
import { migrate, type Pool } from '@coffer/database';
import type { EventStore, Position } from '@coffer/event-store';
import { createPostgresEventStore, logMigrations } from '@coffer/event-store/postgres';
import { createTestDatabase, type TestDatabase, until } from '@coffer/testing';
import { expect } from 'chai';
import { readBlocks, readCarriedUntil, readChainHead } from './blocksTable.ts';
import { entryHash, GENESIS } from './chain.ts';
import { CHAIN_CONSUMER, chainProjection } from './chainProjection.ts';
import { auditMigrations } from './migrations.ts';
import { createPointsInTime } from './pointInTime.ts';

describe('the chain', () => {
  let database: TestDatabase;
  let pool: Pool;
  let store: EventStore;
  let running: Consumer[];
  let alarms: ConsumerAlarm[];
  let troubles: unknown[];

  beforeEach(async () => {
    database = await createTestDatabase({ name: 'audit', prepare });
    pool = database.pool;
    store = createPostgresEventStore({
      connectionString: database.connectionString,
      applicationName: 'spec log',
    });
    running = [];
    alarms = [];
    troubles = [];
  });
  afterEach(async () => {
    await Promise.all(running.map((consumer) => consumer.stop()));
    await store.close();
    await database.drop();
  });

  const start = (projections: readonly Projection[] = [chainProjection()], pageSize = 7): Consumer => {
    const consumer = startConsumer({
      ...CHAIN_CONSUMER,
      pool,
      store,
      work: projecting(projections),
      onAlarm: (alarm) => alarms.push(alarm),
      onTrouble: ({ error }) => troubles.push(error),
      pageSize,
      minPageIntervalMs: 0,
      standbyPollMs: 5,
      firstRetryMs: 5,
    });
    running.push(consumer);
    return consumer;
  };

  const append = async (count: number, stream = `thing-${randomUUID()}`): Promise<void> => {
    const events = Array.from({ length: count }, (_, index) => ({
      id: randomUUID(),
      type: 'Happened',
      data: JSON.stringify({ index, text: 'ä"\\' }),
      metadata: '{"v":1}',
    }));
    await store.append({ stream, expectedRevision: 'any', events });
  };

  const chainedUpTo = (ordinal: number) =>
    until(async () => (await readChainHead(pool))?.ordinal === ordinal);

  /** The hash of each event, computed from the log alone. */
  const hashesOfLog = async (): Promise<readonly string[]> => {
    const hashes: string[] = [];
    let hash: Buffer = GENESIS;
    for await (const page of store.readAll()) {
      for (const event of page) {
        hash = entryHash(hash, hashes.length + 1, event);
        hashes.push(hash.toString('hex'));
      }
    }
    return hashes;
  };

  /** The hashes of the blocks, which follow one another without a gap. */
  const hashesOfChain = async (): Promise<readonly string[]> => {
    const hashes: string[] = [];
    for await (const block of readBlocks(pool, Number.MAX_SAFE_INTEGER)) {
      expect(block.contradiction).to.equal(undefined);
      expect(block.firstOrdinal).to.equal(hashes.length + 1);
      expect(block.hashBefore.toString('hex')).to.equal(hashes.at(-1) ?? GENESIS.toString('hex'));
      hashes.push(...block.entries.map(({ hash }) => hash.toString('hex')));
      expect(block.lastOrdinal).to.equal(hashes.length);
    }
    return hashes;
  };

  it('is read whole, however many blocks of whatever size it has', async () => {
    await append(70);
    start(undefined, 1);
    await chainedUpTo(70);
    await running.pop()?.stop();
    await append(1_000);
    await append(1_000);
    await append(1_000);
    start(undefined, 1_000);
    await chainedUpTo(3_070);
    expect(await hashesOfChain()).to.deep.equal(await hashesOfLog());
  });

  it('is written in blocks of at most a thousand, each with what names and dates its events', async () => {
    await append(1_000);
    await append(1_000);
    await append(345, 'thing-named');
    start([chainProjection()], 2_000);
    await chainedUpTo(2_345);
    expect(await hashesOfChain()).to.deep.equal(await hashesOfLog());
    const sizes: number[] = [];
    const named: unknown[] = [];
    for await (const { entries } of readBlocks(pool, Number.MAX_SAFE_INTEGER)) {
      sizes.push(entries.length);
      named.push(...entries.map(({ hash: _hash, ...names }) => names));
    }
    expect(Math.max(...sizes)).to.equal(1_000);
    const stored: unknown[] = [];
    for await (const page of store.readAll()) {
      for (const { id, stream, revision, recordedAt } of page) {
        stored.push({ id, stream, revision, recordedAtMs: recordedAt.getTime() });
      }
    }
    expect(named).to.deep.equal(stored);
    const head = await readChainHead(pool);
    expect(head?.place).to.deep.equal(await store.head());
  });

  it('is the same whatever page was rolled back or repeated, and wherever a process died', async () => {
    for (let round = 0; round < 10; round++) await append(9);
    let pages = 0;
    const dying: Projection = {
      apply: async (db) => {
        pages += 1;
        // The connection dies after the page's blocks are written but before they are committed.
        if (pages % 3 === 0) await db.query('select pg_terminate_backend(pg_backend_pid())');
      },
    };
    start([chainProjection(), dying]);
    await chainedUpTo(90);
    expect(troubles).not.to.deep.equal([]);
    expect(alarms).to.deep.equal([]);
    expect(await hashesOfChain()).to.deep.equal(await hashesOfLog());
  });

  it('is one, however many projectors there are and take over from each other', async () => {
    let consumers = [start(), start()];
    for (let round = 1; round <= 5; round++) {
      await append(20);
      const [stopped, ...others] = consumers;
      await stopped?.stop();
      consumers = [...others, start()];
      await append(10);
    }
    await chainedUpTo(150);
    expect(alarms).to.deep.equal([]);
    expect(await hashesOfChain()).to.deep.equal(await hashesOfLog());
  });

  describe('does not go on', () => {
    const stopsAt = async (tamper: string): Promise<void> => {
      await append(10);
      const first = start();
      await chainedUpTo(10);
      await first.stop();
      await pool.query('alter table records.chain_blocks disable trigger all');
      await pool.query(tamper);
      const before = await readChainHead(pool);
      await append(3);
      start();
      await until(() => alarms.length > 0);
      expect(alarms[0]).to.include({ code: 'consumer/poison_event' });
      expect(await readChainHead(pool)).to.deep.equal(before);
    };

    it('over a checkpoint that was set back: its events are in blocks already', () =>
      stopsAt('update records.consumers set position = null, event_id = null, ordinal = null'));
    it('behind a block that was removed', () =>
      stopsAt(
        'delete from records.chain_blocks where last_ordinal = (select max(last_ordinal) from records.chain_blocks)',
      ));
  });

  it('keeps its blocks from being changed or removed by accident', async () => {
    await append(3);
    start();
    await chainedUpTo(3);
    for (const statement of [
      'update records.chain_blocks set last_position = last_position',
      'delete from records.chain_blocks',
    ]) {
      const failure = await pool.query(statement).catch((error: Error) => error);
      expect(failure).to.be.instanceOf(Error).and.have.property('message').that.includes('never changed');
    }
  });

  it('dates its places by the latest time so far, since a clock may go back', async () => {
    await append(12);
    const seconds = [10, 20, 5, 30, 30, 7, 40, 50, 45, 60, 70, 65];
    for (const [index, second] of seconds.entries()) {
      await pool.query(
        `update log.events set created = to_timestamp(1000000000 + $2::int) where position = $1`,
        [index + 1, second],
      );
    }
    const points = createPointsInTime(pool, store);
    const at = (second: number) => points.pointAt(new Date((1_000_000_000 + second) * 1_000));
    const rows: readonly [second: number, ordinal: number][] = [
      [0, 0],
      [5, 0],
      [9, 0],
      [10, 1],
      [19, 1],
      [20, 3],
      [29, 3],
      [30, 6],
      [45, 7],
      [50, 9],
      [64, 10],
      [70, 12],
      [99, 12],
    ];
    // Without a chain, with part of it after the last block, and with all of it in blocks.
    for (const chained of [0, 5, 12]) {
      await pool.query('truncate records.chain_blocks, records.consumers');
      if (chained > 0) {
        const consumer = start([stoppingAfter(chained)], 5);
        await chainedUpTo(chained);
        await consumer.stop();
      }
      for (const [second, ordinal] of rows) {
        expect(await at(second), `second ${second}, ${chained} chained`).to.deep.equal({
          ordinal,
          position: ordinal === 0 ? undefined : `${ordinal}`,
        });
      }
    }
  });

  it('knows the position of an ordinal and the ordinal of a position, whether the events are in blocks or not', async () => {
    await append(12);
    const points = createPointsInTime(pool, store);
    for (const chained of [0, 5, 12]) {
      await pool.query('truncate records.chain_blocks, records.consumers');
      if (chained > 0) {
        const consumer = start([stoppingAfter(chained)], 2);
        await chainedUpTo(chained);
        await consumer.stop();
      }
      for (const [position, ordinal] of [
        [0, 0],
        [1, 1],
        [2, 2],
        [5, 5],
        [7, 7],
        [12, 12],
        [99, 12],
      ]) {
        // A decimal text is a position of this store.
        expect(await points.ordinalOf(`${position}` as Position), `${chained} chained`).to.equal(ordinal);
        expect(await points.pointOf(Number(position)), `${chained} chained`).to.deep.equal({
          ordinal,
          position: ordinal === 0 ? undefined : `${ordinal}`,
        });
      }
    }
  });

  it('is sampled by the columns that blocks are found by, and not by the thousands of elements in each', async () => {
    await append(12);
    start();
    await chainedUpTo(12);
    await pool.query('analyze records.chain_blocks');
    const { rows } = await pool.query<{ name: string }>(
      `select attname as name from pg_stats
        where schemaname = 'records' and tablename = 'chain_blocks' order by attname`,
    );
    expect(rows.map(({ name }) => name)).to.deep.equal([
      'first_ordinal',
      'last_ordinal',
      'recorded_until_ms',
    ]);
  });

  it('of a former release is known to be carried where the log has it recorded later', async () => {
    await append(12);
    start();
    await chainedUpTo(12);
    const migratedAnew = async () => {
      await pool.query('drop table records.chain_carried');
      await pool.query(`delete from records.knex_migrations where name like '0002-audit-chain-carried.sql%'`);
      await migrate(pool, MIGRATIONS);
      return readCarriedUntil(pool);
    };
    expect(await migratedAnew()).to.equal(0);
    await pool.query(`update log.events set created = created + interval '1 day' where position <= 7`);
    expect(await migratedAnew()).to.equal(7);
    await pool.query('truncate log.events');
    expect(await migratedAnew()).to.equal(12);
  });

  /** Chains this many events and no more. */
  function stoppingAfter(count: number): Projection {
    const chain = chainProjection();
    return {
      apply: async (db, events, ...rest) => {
        if (events.some(({ position }) => Number(position) > count)) throw new Error('far enough');
        await chain.apply(db, events, ...rest);
      },
    };
  }
});

const MIGRATIONS = [logMigrations, auditMigrations, consumerMigrations];

async function prepare(pool: Pool): Promise<void> {
  await migrate(pool, MIGRATIONS);
  await createConsumersTable(pool, 'records');
}
