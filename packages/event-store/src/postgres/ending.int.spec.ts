/** Connections end however silent their server is. */
import { createPool, withConnection } from '@coffer/database';
import { createTestDatabase, failureOf, type TestDatabase } from '@coffer/testing';
import pg from 'pg';
import { newEvents, streamName } from '../testing/events.ts';
import { createFaultProxy, type FaultProxy } from '../testing/faultProxy.ts';
import { follow } from '../testing/follow.ts';
import { logTemplate } from '../testing/logDatabase.ts';
import { createPoolEnd, endClient } from './ending.ts';
import { createPostgresEventStore } from './postgresEventStore.ts';

describe('the end of a connection whose server is silent', () => {
  let database: TestDatabase;
  let proxy: FaultProxy;
  let connectionString: string;
  beforeEach(async () => {
    database = await createTestDatabase(logTemplate);
    const url = new URL(database.connectionString);
    proxy = await createFaultProxy(Number(url.port));
    url.port = String(proxy.port);
    connectionString = url.href;
  });
  afterEach(async () => {
    await proxy.close();
    await database.drop();
  });
  /** Nothing arrives any longer, not even the end of a connection. */
  const fallSilent = () => {
    proxy.holdRequests();
    proxy.swallowReplies();
  };

  it('comes although nobody answers', async () => {
    const client = new pg.Client({ connectionString });
    await client.connect();
    fallSilent();
    await endClient(client);
  });

  it('comes to every connection of a pool, also to one that waits for an answer', async () => {
    const pool = createPool({ connectionString, applicationName: 'spec', onIdleError: () => undefined });
    const end = createPoolEnd(pool);
    await Promise.all([pool.query('select 1'), pool.query('select 1')]);
    fallSilent();
    const asked = Promise.withResolvers<void>();
    const unanswered = failureOf(
      withConnection(pool, (client) => {
        const answer = client.query('select 1');
        asked.resolve();
        return answer;
      }),
    );
    await asked.promise;
    await end();
    await unanswered;
  });

  it('comes to every connection of a store', async () => {
    const store = createPostgresEventStore({ connectionString, applicationName: 'spec' });
    await store.append({ stream: streamName(), expectedRevision: 'noStream', events: newEvents(1) });
    const reader = follow(store);
    // It appends over one, listens with another, and reads over a third.
    await proxy.untilConnections(3);
    await reader.until(() => reader.told.includes('caughtUp'));
    fallSilent();
    await store.close();
    await reader.ended;
  });
});
