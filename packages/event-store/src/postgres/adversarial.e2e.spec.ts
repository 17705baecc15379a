/** Writers and other transactions that do everything that makes readers of other logs skip or reorder events. */
import { randomUUID } from 'node:crypto';
import type { Pool } from '@coffer/database';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import type { PoolClient } from 'pg';
import type { EventStore } from '../port.ts';
import { follow } from '../testing/follow.ts';
import { faultsOf } from '../testing/logCheck.ts';
import { logTemplate, waitingAppends } from '../testing/logDatabase.ts';
import { startWriter, type Writer } from '../testing/writers.ts';
import { createPostgresEventStore } from './postgresEventStore.ts';

const LANES = 16;
const APPENDS_PER_LANE = 50;

/** One event, written in the session's transaction. */
async function appendIn(session: PoolClient, stream: string): Promise<string> {
  const id = randomUUID();
  await session.query(
    `select log.append_v1(array[$2], array[-2], array[null::uuid], array[1], array[1], array[$1::uuid],
       array['Slow'], array['{}'], array['{}'])`,
    [id, stream],
  );
  return id;
}

describe('a log under adverse transactions', () => {
  let database: TestDatabase;
  let elsewhere: TestDatabase;
  const sessions: PoolClient[] = [];
  const writers: Writer[] = [];
  let store: EventStore;

  before(async () => {
    database = await createTestDatabase(logTemplate);
    elsewhere = await createTestDatabase();
    const { connectionString } = database;
    store = createPostgresEventStore({ connectionString, applicationName: 'reader' });
  });
  after(async () => {
    for (const session of sessions) session.release(true);
    await Promise.all(writers.map((writer) => writer.kill()));
    await store.close();
    await database.drop();
    await elsewhere.drop();
  });
  const sessionIn = async (pool: Pool): Promise<PoolClient> => {
    const session = await pool.connect();
    sessions.push(session);
    return session;
  };

  it('gives a subscriber every acknowledged event once, in one order without gaps', async () => {
    const { pool } = database;
    const poolElsewhere = elsewhere.pool;

    // Each holds back the horizon, which matters to a reader that waits for it.
    for (const session of [await sessionIn(poolElsewhere), await sessionIn(pool)]) {
      await session.query('begin; create table held as select 1 as one');
    }
    const snapshot = await sessionIn(pool);
    await snapshot.query('begin isolation level repeatable read; select count(*) from log.events');

    const early = follow(store, { pageSize: 37 });
    for (const name of ['one', 'two', 'three']) {
      const connectionString = database.connectionString;
      writers.push(startWriter({ connectionString, name, lanes: LANES, appendsPerLane: APPENDS_PER_LANE }));
    }
    let areWriting = true;
    const written = Promise.all(writers.map(({ ended }) => ended)).finally(() => {
      areWriting = false;
    });
    written.catch(() => undefined);

    // Slow appends that others wait for, alternately committed and rolled back, so that positions are reused.
    const slow = await sessionIn(pool);
    const ids = { commit: [] as string[], rollback: [] as string[] };
    for (let round = 0; areWriting && round < 40; round++) {
      const end = round % 2 === 0 ? 'rollback' : 'commit';
      await slow.query('begin');
      ids[end].push(await appendIn(slow, `slow-spec.all.${round % 3}`));
      await waitingAppends(pool, () => !areWriting);
      await slow.query(end);
    }
    await written;
    expect(ids.commit).not.to.deep.equal([]);

    const late = follow(store);
    const head = await store.head();
    for (const reader of [early, late]) {
      await reader.until(() => reader.events().at(-1)?.id === head?.eventId);
      const acknowledged = writers.flatMap((writer) => writer.acknowledged);
      expect(acknowledged).to.have.length(3 * LANES * APPENDS_PER_LANE);
      expect(faultsOf(reader.events(), acknowledged)).to.deep.equal([]);
      const sent = acknowledged.flatMap(({ request }) => request.events.map(({ id }) => id));
      expect(reader.ids()).to.have.length(sent.length + ids.commit.length);
      expect(reader.ids()).to.have.members([...sent, ...ids.commit]);
      await reader.stop();
    }
  });
});
