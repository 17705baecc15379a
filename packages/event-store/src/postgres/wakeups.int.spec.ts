import type { Pool } from '@coffer/database';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { newEvents, streamName } from '../testing/events.ts';
import { logTemplate } from '../testing/logDatabase.ts';
import { createPostgresEventStore } from './postgresEventStore.ts';
import { createWakeups } from './wakeups.ts';

/** No poll would come during a spec. */
const NEVER_MS = 3_600_000;

describe('wake-ups', () => {
  let database: TestDatabase;
  let pool: Pool;
  before(async () => {
    database = await createTestDatabase(logTemplate);
    pool = database.pool;
  });
  after(() => database.drop());

  let open: { close(): Promise<void> }[] = [];
  const opened = <Closable extends { close(): Promise<void> }>(closable: Closable): Closable => {
    open.push(closable);
    return closable;
  };
  afterEach(async () => {
    await Promise.all(open.map((each) => each.close()));
    open = [];
  });

  it('come with the appends of other processes, even after the connection was lost', async () => {
    const { connectionString } = database;
    const { signal } = new AbortController();
    const wakeups = opened(createWakeups({ connectionString, applicationName: 'listener' }));
    wakeups.listen();
    // It wakes when it starts to listen, for anything it may have missed.
    await wakeups.moreThan(0, NEVER_MS, signal);

    const other = opened(createPostgresEventStore({ connectionString, applicationName: 'other' }));
    const append = () =>
      other.append({ stream: streamName(), expectedRevision: 'noStream', events: newEvents(1) });
    const wakesAfter = async (action: () => Promise<unknown>): Promise<void> => {
      const seen = wakeups.count;
      await action();
      await wakeups.moreThan(seen, NEVER_MS, signal);
    };
    await wakesAfter(append);
    await wakesAfter(append);

    await wakesAfter(() =>
      pool.query(`select pg_terminate_backend(pid) from pg_stat_activity
                  where application_name = 'listener-listen' and datname = current_database()`),
    );
    await wakesAfter(append);
    await wakesAfter(async () => {
      await append();
      await other.close();
    });
  });

  it('are not waited for when one has come since, on timeout, or when aborted', async () => {
    const { connectionString } = database;
    const wakeups = opened(createWakeups({ connectionString, applicationName: 'listener' }));
    const stopping = new AbortController();
    const seen = wakeups.count;
    wakeups.wake();
    await wakeups.moreThan(seen, NEVER_MS, stopping.signal);
    await wakeups.moreThan(wakeups.count, 1, stopping.signal);
    const sleeping = wakeups.moreThan(wakeups.count, NEVER_MS, stopping.signal);
    stopping.abort();
    await sleeping;
    await wakeups.moreThan(wakeups.count, NEVER_MS, stopping.signal);
  });
});
