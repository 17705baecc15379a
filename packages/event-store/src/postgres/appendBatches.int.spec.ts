/** Which waiting appends go to the database together, and when. */
import type { Pool } from '@coffer/database';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import type { EventStore } from '../port.ts';
import { newEvents, streamName } from '../testing/events.ts';
import { logTemplate, waitingAppends, whileAppendsWait } from '../testing/logDatabase.ts';
import { createPostgresEventStore } from './postgresEventStore.ts';

describe('while a batch of appends is on its way', () => {
  let database: TestDatabase;
  let pool: Pool;
  let store: EventStore;
  before(async () => {
    database = await createTestDatabase(logTemplate);
    const { connectionString } = database;
    pool = database.pool;
    store = createPostgresEventStore({ connectionString, applicationName: 'spec' });
  });
  after(async () => {
    await store.close();
    await database.drop();
  });

  /** Each to another stream, in one tick. */
  const send = (count: number) =>
    newEvents(count).map((event) =>
      store.append({ stream: streamName(), expectedRevision: 'noStream', events: [event] }),
    );

  /** Sends that many at a time, the first of them on its way before the others; returns the sizes of the batches. */
  async function batchesOf([first, ...others]: readonly [number, ...number[]]): Promise<readonly number[]> {
    const { rows: before } = await pool.query<{ last: number }>(
      'select coalesce(max(position), 0)::int as last from log.events',
    );
    const appends = await whileAppendsWait(pool, async () => {
      const sent = [send(first)];
      await waitingAppends(pool);
      for (const count of others) {
        sent.push(send(count));
        await new Promise(setImmediate);
      }
      return sent.flat();
    });
    await Promise.all(appends);
    const { rows } = await pool.query<{ size: number }>(
      'select count(*)::int as size from log.events where position > $1 group by created order by min(position)',
      [before[0]?.last],
    );
    return rows.map(({ size }) => size);
  }

  it('another follows at once when it is worth a transaction, and the rest waits for the end of the first', async () => {
    expect(await batchesOf([1, 8, 20, 3])).to.deep.equal([1, 8, 23]);
  });

  it('fewer wait for more', async () => {
    expect(await batchesOf([1, 7, 20])).to.deep.equal([1, 27]);
  });

  it('it has to have half as many as the first', async () => {
    expect(await batchesOf([40, 19, 1, 6])).to.deep.equal([40, 20, 6]);
  });

  it('none has more than 128', async () => {
    expect(await batchesOf([1, 300])).to.deep.equal([1, 128, 128, 44]);
  });
});
