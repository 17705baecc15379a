import { once } from 'node:events';
import { createServer } from 'node:net';
import { createPool, type Pool } from '@coffer/database';
import { createTestDatabase, failureOf, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import {
  InvalidAppendError,
  OutcomeUnknownError,
  StoreOverloadedError,
  StoreUnreachableError,
} from '../errors.ts';
import type { AppendRequest, EventStore, EventToAppend } from '../port.ts';
import { allOf, newEvent, newEvents, streamName } from '../testing/events.ts';
import { logTemplate, waitingAppends, whileAppendsWait } from '../testing/logDatabase.ts';
import { createReplySwallower } from '../testing/replySwallower.ts';
import {
  createPostgresEventStore,
  migrateLog,
  type PostgresEventStoreOptions,
} from './postgresEventStore.ts';

const requestOf = (events: readonly EventToAppend[], stream = streamName()): AppendRequest => ({
  stream,
  expectedRevision: 'noStream',
  events,
});

describe('the Postgres event store', () => {
  let database: TestDatabase;
  let pool: Pool;
  let store: EventStore;
  let opened: { close(): Promise<void> }[];
  const open = (options: Partial<PostgresEventStoreOptions> = {}): EventStore => {
    const { connectionString } = database;
    const another = createPostgresEventStore({ connectionString, applicationName: 'spec', ...options });
    opened.push(another);
    return another;
  };
  beforeEach(async () => {
    database = await createTestDatabase(logTemplate);
    pool = database.pool;
    opened = [];
    store = open();
  });
  afterEach(async () => {
    await Promise.all(opened.map((each) => each.close()));
    await database.drop();
  });

  describe('when the database refuses an entry', () => {
    /** Sent in one tick, so in one batch. */
    const sendAround = (refused: AppendRequest) => {
      const neighbours = Array.from({ length: 9 }, () => requestOf(newEvents(2)));
      const sent = [...neighbours.slice(0, 4), refused, ...neighbours.slice(4)];
      return Promise.allSettled(sent.map((request) => store.append(request)));
    };
    const reasonsOf = (results: readonly PromiseSettledResult<unknown>[]) =>
      results.map((result) => (result.status === 'rejected' ? result.reason : undefined));

    it('for its data, that entry fails alone', async () => {
      // No index entry can be as long as this name.
      const name = Array.from({ length: 300 }, streamName).join('');
      const reasons = reasonsOf(await sendAround(requestOf(newEvents(1), name)));
      expect(reasons.splice(4, 1)[0]).to.be.instanceOf(InvalidAppendError);
      expect(reasons).to.deep.equal(Array.from({ length: 9 }));
      expect(await allOf(store.readAll())).to.have.length(18);
    });

    it('for some other reason, that entry alone is told that nothing was written', async () => {
      await pool.query(`alter table log.events add constraint spec check (type <> 'Unwanted')`);
      const reasons = reasonsOf(await sendAround(requestOf([newEvent(), newEvent({ type: 'Unwanted' })])));
      expect(reasons.splice(4, 1)[0]).to.be.instanceOf(StoreUnreachableError);
      expect(reasons).to.deep.equal(Array.from({ length: 9 }));
      expect(await allOf(store.readAll())).to.have.length(18);
    });
  });

  describe('when the connection is lost during an append', () => {
    it('the outcome is unknown; one that was not written is written by the retry', async () => {
      const request = requestOf(newEvents(2));
      await whileAppendsWait(pool, async () => {
        const failure = failureOf(store.append(request));
        for (const pid of await waitingAppends(pool))
          await pool.query('select pg_terminate_backend($1)', [pid]);
        expect(await failure).to.be.instanceOf(OutcomeUnknownError);
      });
      expect((await store.append(request)).alreadyAppended).to.equal(false);
      expect(await allOf(store.readAll())).to.have.length(2);
    });

    it('the outcome is unknown; one that was written is found by the retry', async () => {
      const proxy = await createReplySwallower(database.connectionString);
      opened.push(proxy);
      const proxied = open({ connectionString: proxy.connectionString });
      await proxied.append(requestOf(newEvents(1)));
      const request = requestOf(newEvents(2));
      proxy.swallowReplies();
      expect(await failureOf(proxied.append(request))).to.be.instanceOf(OutcomeUnknownError);

      const retried = await proxied.append(request);
      expect(retried).to.deep.include({ revision: 1, alreadyAppended: true });
      expect((await store.head())?.position).to.equal(retried.position);
    });

    it('every append in flight fails, and every retry converges', async () => {
      const requests = Array.from({ length: 200 }, () => requestOf(newEvents(1)));
      await whileAppendsWait(pool, async () => {
        const sent = Promise.allSettled(requests.map((request) => store.append(request)));
        let settled = false;
        void sent.then(() => {
          settled = true;
        });
        while (!settled) {
          for (const pid of await waitingAppends(pool, () => settled)) {
            await pool.query('select pg_terminate_backend($1)', [pid]);
          }
        }
        for (const result of await sent) {
          expect(result.status === 'rejected' && result.reason).to.be.instanceOf(OutcomeUnknownError);
        }
      });
      await Promise.all(requests.map((request) => store.append(request)));
      expect(await allOf(store.readAll())).to.have.length(200);
    });
  });

  describe('when no server listens', () => {
    const unheard = async (): Promise<EventStore> => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      const address = server.address();
      server.close();
      await once(server, 'close');
      const url = new URL(database.connectionString);
      url.port = String(typeof address === 'object' ? address?.port : '');
      return open({ connectionString: url.href });
    };

    it('appends and reads fail with the store away, including those that wait', async () => {
      const away = await unheard();
      const attempts = [
        ...Array.from({ length: 400 }, () => away.append(requestOf(newEvents(1)))),
        away.heads([streamName()]),
        away.head(),
        allOf(away.readAll()),
        allOf(away.readStream(streamName())),
      ];
      for (const result of await Promise.allSettled(attempts)) {
        expect(result.status === 'rejected' && result.reason).to.be.instanceOf(StoreUnreachableError);
      }
    });

    it('waiting appends fail after one connection attempt each, not one per batch', async () => {
      let attempts = 0;
      const server = createServer((socket) => {
        attempts += 1;
        socket.destroy();
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const address = server.address();
      const url = new URL(database.connectionString);
      url.port = String(typeof address === 'object' ? address?.port : '');
      const away = open({ connectionString: url.href });
      const waiting = Array.from({ length: 1_000 }, () => away.append(requestOf(newEvents(1))));
      for (const result of await Promise.allSettled(waiting)) {
        expect(result.status === 'rejected' && result.reason).to.be.instanceOf(StoreUnreachableError);
      }
      expect(attempts).to.be.within(1, 2);
      server.close();
      await once(server, 'close');
    });

    it('a subscription keeps trying, and ends without an error when it is aborted or the store closes', async () => {
      const away = await unheard();
      const stopping = new AbortController();
      const drained = [stopping.signal, new AbortController().signal].map(async (signal) => {
        for await (const message of away.subscribeToAll({ signal })) expect.fail(`It gave ${message.kind}.`);
      });
      expect(await failureOf(away.head())).to.be.instanceOf(StoreUnreachableError);
      stopping.abort();
      await drained[0];
      await away.close();
      await drained[1];
    });
  });

  it('leaves a server that has become read-only, and finds the primary', async () => {
    const setReadOnly = (value: 'on' | 'off') =>
      pool.query(`do $$ begin execute format(
        'alter database %I set default_transaction_read_only = ${value}', current_database()); end $$`);
    await setReadOnly('on');
    const request = requestOf(newEvents(1));
    expect(await failureOf(store.append(request))).to.be.instanceOf(StoreUnreachableError);
    // Only new connections see the setting, as if a standby were promoted elsewhere.
    await setReadOnly('off');
    expect((await store.append(request)).alreadyAppended).to.equal(false);
  });

  it('reads by index, even with statements planned while the log was small', async () => {
    for (let round = 0; round < 3; round++) await store.append(requestOf(newEvents(20)));
    await pool.query('analyze log.events');
    const stream = streamName();
    await store.append(requestOf(newEvents(5), stream));
    // From its sixth execution on, a prepared statement may keep one plan for all values.
    for (let times = 0; times < 7; times++) {
      expect(await allOf(store.readStream(stream))).to.have.length(5);
      expect(await allOf(store.readStream(stream, { direction: 'backwards', limit: 2 }))).to.have.length(2);
      expect(await store.heads([stream])).to.have.length(1);
      expect(await allOf(store.readAll({ limit: 10 }))).to.have.length(10);
      await store.head();
    }
    const scans = async () => {
      const { rows } = await pool.query(
        `select seq_scan::int as scans, (select count(*)::int from pg_stat_activity
           where datname = current_database() and application_name = 'spec-read') as readers
         from pg_stat_user_tables where schemaname = 'log' and relname = 'events'`,
      );
      return rows[0];
    };
    // A connection reports its statistics when it ends, at the latest.
    await store.close();
    let counted = await scans();
    while (counted.readers > 0) counted = await scans();
    expect(counted.scans).to.equal(0);
  });

  it('refuses appends beyond its limit in bytes', async () => {
    const small = open({ maxQueuedBytes: 10_000 });
    const events = [newEvent({ data: JSON.stringify({ text: 'x'.repeat(4_000) }) })];
    const results = await Promise.allSettled(
      Array.from({ length: 5 }, () => small.append(requestOf(events))),
    );
    expect(results.map(({ status }) => status)).to.deep.equal([
      ...Array.from({ length: 2 }, () => 'fulfilled'),
      ...Array.from({ length: 3 }, () => 'rejected'),
    ]);
    for (const result of results.slice(2)) {
      expect(result.status === 'rejected' && result.reason).to.be.instanceOf(StoreOverloadedError);
    }
  });

  it('closes once however often it is called, even while somebody reads', async () => {
    await store.append(requestOf(newEvents(1_500)));
    for await (const page of store.readAll()) {
      expect(page).to.have.length(1_000);
      await Promise.all([store.close(), store.close()]);
      break;
    }
  });

  it('does not mistake its own faults for a store that is away', async () => {
    const empty = await createTestDatabase();
    const unmigrated = open({ connectionString: empty.connectionString });
    const failure = await failureOf(unmigrated.head());
    expect(failure).to.be.instanceOf(Error).and.to.have.property('code', '42P01');
    await unmigrated.close();
    await empty.drop();
  });

  it('migrates once when several processes start at the same time', async () => {
    const empty = await createTestDatabase();
    const { connectionString } = empty;
    const starting = Array.from({ length: 4 }, () =>
      createPool({ connectionString, applicationName: 'spec', onIdleError: () => undefined }),
    );
    await Promise.all(starting.map(migrateLog));
    await Promise.all(starting.map((each) => each.end()));
    const fresh = open({ connectionString });
    expect((await fresh.append(requestOf(newEvents(1)))).revision).to.equal(0);
    await fresh.close();
    await empty.drop();
  });
});
