/** Writers and other transactions that do everything which makes readers of other logs skip or invert events. */
import { randomUUID } from 'node:crypto';
import { createPool, type Pool } from '@coffer/database';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { follow } from '../subscription.contract.ts';
import { faultsOf } from '../testing/logCheck.ts';
import { logTemplate, waitingAppends } from '../testing/logDatabase.ts';
import { startWriter } from '../testing/writers.ts';
import { createPostgresEventStore } from './postgresEventStore.ts';

const LANES = 16;
const APPENDS_PER_LANE = 50;

const poolOf = ({ connectionString }: TestDatabase): Pool =>
  createPool({ connectionString, applicationName: 'spec', onIdleError: () => undefined });

/** Appends one event in a transaction of its own and leaves it open. */
async function beginAppend(pool: Pool, id: string, stream: string) {
  const client = await pool.connect();
  await client.query('begin');
  await client.query(
    `select log.append_v1(array[$2], array[-2], array[null::uuid], array[1], array[1], array[$1::uuid],
       array['Slow'], array['{}'], array['{}'])`,
    [id, stream],
  );
  return {
    async end(how: 'commit' | 'rollback'): Promise<void> {
      await client.query(how);
      client.release();
    },
  };
}

describe('a log under adverse transactions', () => {
  let database: TestDatabase;
  let elsewhere: TestDatabase;
  let pool: Pool;
  let poolElsewhere: Pool;
  before(async () => {
    database = await createTestDatabase(logTemplate);
    elsewhere = await createTestDatabase();
    pool = poolOf(database);
    poolElsewhere = poolOf(elsewhere);
  });
  after(async () => {
    await pool.end();
    await poolElsewhere.end();
    await database.drop();
    await elsewhere.drop();
  });

  it('gives a subscriber every acknowledged event once, in one order without gaps', async () => {
    const { connectionString } = database;
    // Each holds back the horizon that a reader would wait for, had it to wait for one.
    const idle = [await poolElsewhere.connect(), await pool.connect(), await pool.connect()];
    await idle[0]?.query('begin; create table held as select 1 as one');
    await idle[1]?.query('begin; create table held as select 1 as one');
    await idle[2]?.query('begin isolation level repeatable read; select count(*) from log.events');

    const store = createPostgresEventStore({ connectionString, applicationName: 'reader' });
    const early = follow(store, { pageSize: 37 });
    const writers = ['one', 'two', 'three'].map((name) =>
      startWriter({ connectionString, name, lanes: LANES, appendsPerLane: APPENDS_PER_LANE }),
    );
    let areWriting = true;
    const written = Promise.all(writers.map(({ ended }) => ended)).finally(() => {
      areWriting = false;
    });
    written.catch(() => undefined);

    // Slow appends that others wait for; by turns committed and rolled back, so that their positions come again.
    const kept: string[] = [];
    const rolledBack: string[] = [];
    for (let round = 0; areWriting && round < 40; round++) {
      const id = randomUUID();
      const append = await beginAppend(pool, id, `slow-spec.all.${round % 3}`);
      await waitingAppends(pool, () => !areWriting);
      const how = round % 2 === 0 ? 'rollback' : 'commit';
      (how === 'commit' ? kept : rolledBack).push(id);
      await append.end(how);
    }
    await written;
    for (const client of idle) {
      await client.query('rollback');
      client.release();
    }

    const late = follow(store);
    const head = await store.head();
    for (const reader of [early, late]) {
      await reader.until(() => reader.events().at(-1)?.id === head?.eventId);
      const acknowledged = writers.flatMap((writer) => writer.acknowledged);
      expect(acknowledged).to.have.length(3 * LANES * APPENDS_PER_LANE);
      expect(faultsOf(reader.events(), acknowledged)).to.deep.equal([]);
      const sent = acknowledged.flatMap(({ request }) => request.events.map(({ id }) => id));
      expect(reader.ids())
        .to.have.length(sent.length + kept.length)
        .and.to.have.members([...sent, ...kept]);
      expect(reader.ids()).not.to.include.any.members(rolledBack);
      await reader.stop();
    }
    await store.close();
  });
});
