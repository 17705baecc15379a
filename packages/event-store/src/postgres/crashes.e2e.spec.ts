/** Processes killed while they write: what was acknowledged is kept, everything else converges. */
import { createPool, type Pool } from '@coffer/database';
import { type PrivateServer, startPrivateServer } from '@coffer/testing';
import { expect } from 'chai';
import { OutcomeUnknownError, StoreUnreachableError, WrongExpectedRevisionError } from '../errors.ts';
import type { AppendRequest, AppendResult, EventStore } from '../port.ts';
import { allOf, newEvents, streamName } from '../testing/events.ts';
import { follow } from '../testing/follow.ts';
import { faultsOf } from '../testing/logCheck.ts';
import { type Acknowledged, startWriter, type Writer } from '../testing/writers.ts';
import { createPostgresEventStore, migrateLog } from './postgresEventStore.ts';

const LANES = 16;
/** More than a writer can do during a spec: each is stopped or killed. */
const ENDLESS = 1_000_000;

describe('the log', () => {
  let server: PrivateServer;
  let pool: Pool;
  let store: EventStore;
  let writers: Writer[];
  before(async () => {
    server = await startPrivateServer();
  });
  after(() => server.stop());
  beforeEach(async () => {
    const { connectionString } = server;
    pool = createPool({ connectionString, applicationName: 'spec', onIdleError: () => undefined });
    await pool.query('drop schema if exists log cascade');
    await migrateLog(pool);
    store = createPostgresEventStore({ connectionString, applicationName: 'reader' });
    writers = [];
  });
  afterEach(async () => {
    await Promise.allSettled(writers.map((writer) => writer.kill()));
    await store.close();
    await pool.end();
  });
  const start = (name: string): Writer => {
    const { connectionString } = server;
    const writer = startWriter({ connectionString, name, lanes: LANES, appendsPerLane: ENDLESS });
    writers.push(writer);
    return writer;
  };
  const moreThan = async (count: number): Promise<void> => {
    const goals = writers.map((writer) => writer.acknowledged.length + count);
    await Promise.all(
      writers.map((writer, index) => writer.until(() => writer.acknowledged.length > (goals[index] ?? 0))),
    );
  };

  it('keeps what was acknowledged when a backend is killed in the middle of appends', async () => {
    start('one');
    start('two');
    const reader = follow(store, { pageSize: 50 });
    await moreThan(100);
    process.kill(await appendingBackend(pool), 'SIGKILL');
    // All connections are gone and the server recovers; the writers retry by themselves.
    await moreThan(LANES * 10);
    await Promise.all(writers.map((writer) => writer.stop()));

    const head = await store.head();
    await reader.until(() => reader.events().at(-1)?.id === head?.eventId);
    const acknowledged = writers.flatMap((writer) => writer.acknowledged);
    expect(faultsOf(reader.events(), acknowledged)).to.deep.equal([]);
    // Only the server was killed: every attempt reached its end, and there is nothing else in the log.
    const sent = acknowledged.flatMap(({ request }) => request.events.map(({ id }) => id));
    expect(reader.ids()).to.have.length(sent.length).and.to.have.members(sent);
    await reader.stop();
  });

  it('keeps what was acknowledged to a writer that is killed, and retries of the rest converge', async () => {
    const other = start('other');
    // One that dies between two batches, with nothing under way, leaves nothing to retry: another one then.
    let unknown: readonly AppendRequest[] = [];
    for (let kill = 0; unknown.length === 0; kill++) {
      const killed = start(`killed-${kill}`);
      await killed.until(() => killed.acknowledged.length > 100);
      await killed.kill();
      unknown = killed.unacknowledged();
    }

    // As its successor does, while the other writer continues.
    const retried: Acknowledged[] = [];
    for (const request of unknown) {
      const result = await resultOrConflict(store, request);
      if (result) retried.push({ request, result });
      // Only a stream that the other writer shares can have grown without this append.
      else expect(request.stream).to.match(/^shared-/);
      const again = await resultOrConflict(store, request);
      expect(again).to.deep.equal(result && { ...result, alreadyAppended: true });
    }
    await other.stop();

    const events = await allOf(store.readAll());
    const acknowledged = [...writers.flatMap((writer) => writer.acknowledged), ...retried];
    expect(faultsOf(events, acknowledged)).to.deep.equal([]);
    expect(events).to.have.length(
      acknowledged.reduce((count, { request }) => count + request.events.length, 0),
    );
  });

  it('continues where it was after its server was killed and restarted', async () => {
    const append = (): Promise<AppendResult> =>
      store.append({ stream: streamName(), expectedRevision: 'noStream', events: newEvents(2) });
    const reader = follow(store);
    await append();
    await reader.until(() => reader.ids().length === 2);

    await server.killPostmaster();
    const failures: unknown[] = [];
    // Each connection notices for itself; after that the store knows that nothing was written.
    while (!(failures.at(-1) instanceof StoreUnreachableError)) {
      await append().catch((error: unknown) => failures.push(error));
    }
    for (const failure of failures.slice(0, -1)) expect(failure).to.be.instanceOf(OutcomeUnknownError);
    await server.restart();

    const { position } = await append();
    await reader.until(() => reader.events().at(-1)?.position === position);
    expect(faultsOf(reader.events(), [])).to.deep.equal([]);
    await reader.stop();
  });
});

async function appendingBackend(pool: Pool): Promise<number> {
  for (;;) {
    const { rows } = await pool.query<{ pid: number }>(
      `select pid from pg_stat_activity where application_name like '%-append' and state = 'active' limit 1`,
    );
    if (rows[0]) return rows[0].pid;
  }
}

async function resultOrConflict(
  store: EventStore,
  request: AppendRequest,
): Promise<AppendResult | undefined> {
  try {
    return await store.append(request);
  } catch (error) {
    if (error instanceof WrongExpectedRevisionError) return undefined;
    throw error;
  }
}
