/**
 * The log among other processes and other transactions: what was acknowledged is there once, positions are
 * dense, and a subscriber sees it all in order. Then the same when processes are killed.
 */
import { createTestDatabase, type PrivateServer, startPrivateServer } from '@coffer/testing';
import { expect } from 'chai';
import pg from 'pg';
import { logTemplate } from '../../test/logTemplate.ts';
import { startWriter, type Writer } from '../../test/writers.ts';
import { newEvents, streamName } from '../eventStore.contract.ts';
import type { EventStore, RecordedEvent } from '../port.ts';
import { createPostgresEventStore } from './index.ts';

const streams = (count: number) => Array.from({ length: count }, streamName);

/** Follows the log from the start and keeps everything. */
function recordLog(store: EventStore) {
  const stopping = new AbortController();
  const events: RecordedEvent[] = [];
  let change = Promise.withResolvers<void>();
  const ended = (async () => {
    for await (const message of store.subscribeToAll({ signal: stopping.signal, pageSize: 200 })) {
      if (message.kind === 'events') events.push(...message.events);
      const { resolve } = change;
      change = Promise.withResolvers<void>();
      resolve();
    }
  })();
  return {
    /** Everything up to the present head of the log. */
    async all(): Promise<readonly RecordedEvent[]> {
      const head = await store.head();
      while (events.at(-1)?.position !== head?.position) await Promise.race([change.promise, ended]);
      stopping.abort();
      await ended;
      return events;
    },
  };
}

/** Positions count from 1 without a gap, and revisions of each stream from 0 in the same order. */
function expectSound(events: readonly RecordedEvent[]): void {
  const revisions = new Map<string, number>();
  const faults: string[] = [];
  events.forEach(({ position, stream, revision }, index) => {
    if (position !== `${index + 1}`) faults.push(`position ${position} where ${index + 1} must stand`);
    const expected = (revisions.get(stream) ?? -1) + 1;
    if (revision !== expected) faults.push(`${stream} goes on with ${revision} instead of ${expected}`);
    revisions.set(stream, revision);
  });
  expect(faults).to.deep.equal([]);
}

/** Everything acknowledged stands in the log once, and nothing that was refused. */
function expectKept(events: readonly RecordedEvent[], writers: readonly Writer[]): void {
  const times = new Map<string, number>();
  for (const { id } of events) times.set(id, (times.get(id) ?? 0) + 1);
  expect([...times.values()].every((count) => count === 1)).to.equal(true);
  for (const { acknowledged, refused } of writers) {
    expect([...acknowledged].filter((id) => !times.has(id))).to.deep.equal([]);
    expect([...refused].filter((id) => times.has(id))).to.deep.equal([]);
  }
}

describe('the Postgres log among others', () => {
  it('keeps what three processes write while transactions are slow, rolled back or forgotten', async () => {
    const [database, elsewhere] = await Promise.all([createTestDatabase(logTemplate), createTestDatabase()]);
    const { connectionString } = database;
    const store = createPostgresEventStore({ connectionString, applicationName: 'subscriber' });
    const log = recordLog(store);

    // Forgotten transactions that have written: one beside the log, one in another database of the cluster.
    const forgotten = await Promise.all(
      [connectionString, elsewhere.connectionString].map(async (address) => {
        const client = new pg.Client({ connectionString: address });
        await client.connect();
        await client.query('create table beside (number int)');
        await client.query('begin isolation level repeatable read; insert into beside values (1)');
        return client;
      }),
    );

    const shared = streams(4);
    const writers = [1, 2, 3].map(() =>
      startWriter({ connectionString, ownStreams: streams(12), sharedStreams: shared }),
    );
    // Transactions that append by themselves, sit on it for a while, and then commit or roll back.
    const slow = new pg.Client({ connectionString });
    await slow.connect();
    const kept: string[] = [];
    const rolledBack: string[] = [];
    for (let round = 0; round < 12; round++) {
      const [event] = newEvents(1);
      if (!event) break;
      await slow.query('begin');
      await slow.query(
        `select log.append_v1(
           entry_stream => array[$1], entry_expected => array[-1], entry_expected_id => array[null::uuid],
           event_entry => array[1], event_place => array[1], event_id => array[$2::uuid],
           event_type => array['Slow'], event_data => array['{}'], event_metadata => array['{}'])`,
        [streamName(), event.id],
      );
      await slow.query('select pg_sleep(0.05)');
      await slow.query(round % 2 ? 'commit' : 'rollback');
      (round % 2 ? kept : rolledBack).push(event.id);
    }
    await Promise.all(writers.map((writer) => writer.untilAcknowledged(800)));
    await Promise.all(writers.map((writer) => writer.stop()));

    const events = await log.all();
    expectSound(events);
    expectKept(events, writers);
    const ids = new Set(events.map(({ id }) => id));
    expect(kept.every((id) => ids.has(id))).to.equal(true);
    expect(rolledBack.some((id) => ids.has(id))).to.equal(false);
    expect(events).to.have.length(
      kept.length + writers.reduce((sum, { acknowledged }) => sum + acknowledged.size, 0),
    );
    // They did get in each other's way.
    expect(writers.some(({ refused }) => refused.size > 0)).to.equal(true);

    await Promise.all([slow, ...forgotten].map((client) => client.end()));
    await store.close();
    await database.drop();
    await elsewhere.drop();
  });
});

describe('the Postgres log in a crash', () => {
  let server: PrivateServer;
  let store: EventStore;
  before(async () => {
    server = await startPrivateServer();
    await logTemplate.prepare(server.connectionString);
  });
  beforeEach(() => {
    store = createPostgresEventStore({ connectionString: server.connectionString, applicationName: 'spec' });
  });
  afterEach(() => store.close());
  after(() => server.stop());

  /** The process of the server that serves an append connection of a writer. */
  async function appendBackend(): Promise<number> {
    const client = new pg.Client({ connectionString: server.connectionString });
    await client.connect();
    try {
      const { rows } = await client.query<{ pid: number }>(
        `select pid from pg_stat_activity where application_name = 'writer-append' order by state <> 'active'`,
      );
      return rows[0]?.pid ?? expect.fail('No writer is connected.');
    } finally {
      await client.end();
    }
  }

  it('of the server keeps all that was acknowledged, and every retry converges', async () => {
    const log = recordLog(store);
    const writer = startWriter({
      connectionString: server.connectionString,
      ownStreams: streams(24),
      sharedStreams: [],
    });
    for (const acknowledged of [200, 600]) {
      await writer.untilAcknowledged(acknowledged);
      // The postmaster answers the loss of one of its processes by ending all the others and recovering.
      process.kill(await appendBackend(), 'SIGKILL');
      await writer.untilAcknowledged(writer.acknowledged.size + 100);
    }
    await writer.stop();

    expect(writer.retriedBecause).to.include('OutcomeUnknownError');
    expect(writer.unanswered()).to.deep.equal([]);
    const events = await log.all();
    expectSound(events);
    expectKept(events, [writer]);
    expect(events).to.have.length(writer.acknowledged.size);
  });

  it('of the server as a whole is survived as well', async () => {
    const writer = startWriter({
      connectionString: server.connectionString,
      ownStreams: streams(24),
      sharedStreams: [],
    });
    const log = recordLog(store);
    await writer.untilAcknowledged(200);
    await server.killPostmaster();
    await server.restart();
    await writer.untilAcknowledged(writer.acknowledged.size + 200);
    await writer.stop();

    const events = await log.all();
    expectSound(events);
    expectKept(events, [writer]);
  });

  it('of a writer keeps all that was acknowledged, and its requests sent again by another converge', async () => {
    const writer = startWriter({
      connectionString: server.connectionString,
      ownStreams: streams(48),
      sharedStreams: [],
    });
    await writer.untilAcknowledged(500);
    await writer.kill();

    const requests = writer.unanswered();
    expect(requests).not.to.deep.equal([]);
    // Twice: the second time each must be found.
    await Promise.all(requests.map((request) => store.append(request)));
    const again = await Promise.all(requests.map((request) => store.append(request)));
    expect(again.every(({ alreadyAppended }) => alreadyAppended)).to.equal(true);

    const events = await recordLog(store).all();
    expectSound(events);
    expectKept(events, [writer]);
    const ids = new Set(events.map(({ id }) => id));
    expect(requests.flatMap((request) => request.events).every(({ id }) => ids.has(id))).to.equal(true);
  });
});
