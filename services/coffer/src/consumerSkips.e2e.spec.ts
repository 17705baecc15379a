/**
 * Consumers of real processes that stop at an event written into one of our streams by somebody else, and continue
 * once told to skip it: on every node, over restarts, in every rebuilt filling. Source: architecture, Consumers.
 */
import { randomUUID } from 'node:crypto';
import { accountStreamOf } from '@coffer/accounts';
import type { Pool } from '@coffer/database';
import {
  type AppPlace,
  type Client,
  consumerMetric,
  createClient,
  requireStatus,
  setUpApp,
  type TestApp,
} from '@coffer/host/testing';
import { createTestDatabase, endAtFirstFailure, eventually, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { OPERATOR_TOKEN, type ServiceProcess, serviceProcesses } from './testing/serviceProcess.ts';
import { writeAsAnother } from './testing/sharedServer.ts';
import { serviceTemplate } from './testing/world.ts';

type Row = Readonly<Record<string, unknown>>;

const CHIP = 2;
const REASON = 'written by hand on the first of the month; see the minutes';
const STOPPED = ['readModels', 'holds'];

describe('a consumer that has stopped for good', () => {
  endAtFirstFailure();
  const processes = serviceProcesses();
  let database: TestDatabase;
  let pool: Pool;
  let dataFolder: string;
  let api: ServiceProcess;
  let workers: ServiceProcess[];
  let client: Client;
  let app: TestApp;
  let test: AppPlace;
  let stream: string;
  let eventId: string;

  const start = (roles: Parameters<typeof processes.start>[0]['roles']) =>
    processes.start({
      ...(roles && { roles }),
      variables: {
        DATABASE_URL: database.connectionString,
        COFFER_SYSTEM_PORT: '0',
        COFFER_REACTION_GRACE_MS: '0',
      },
      dataFolder,
      until: 'listening',
    });
  const startWorker = () => start(['projector', 'process-manager']);

  before(async () => {
    database = await createTestDatabase(serviceTemplate);
    pool = database.pool;
    dataFolder = await processes.newDataFolder();
    api = await start(['api']);
    workers = [await startWorker(), await startWorker()];
    client = createClient({ baseUrl: `${api.url}/v1`, operatorToken: OPERATOR_TOKEN });
    app = await setUpApp(client);
    test = app.test;
    await play();
    const userId = await test.newPlayer('50');
    stream = accountStreamOf({ environment: 'test', appId: app.appId, userId, currencyId: CHIP });
    await areLive();
    eventId = await writeAsAnother(pool, { stream, type: 'AccountCredited', data: '{"by":"hand"}' });
    await play();
  });
  after(() => database.drop());

  async function play(): Promise<void> {
    const { sessionId } = await test.newSession('100');
    requireStatus(await test.bet({ sessionId, amount: '7' }), 200);
    requireStatus(await test.settle({ sessionId }), 200);
  }
  const coffer = (...args: readonly string[]) =>
    processes.command(args, { COFFER_URL: `${api.url}/v1`, COFFER_OPERATOR_TOKEN: OPERATOR_TOKEN });
  const cofferJson = async (...args: readonly string[]): Promise<Row> =>
    JSON.parse((await coffer('--json', ...args)).stdout);
  const list = async () => (await cofferJson('consumers', 'list')).items as readonly Row[];
  const skip = (consumer: string, event = eventId, reason = REASON) =>
    coffer('--json', 'consumers', 'skip', '--consumer', consumer, '--event', event, '--reason', reason);
  const ready = async ({ url }: ServiceProcess) => {
    const answer = await fetch(`${url}/readyz`);
    return { status: answer.status, body: (await answer.json()) as Row };
  };
  const areLive = () =>
    eventually('both consumers have reached the end of the log', async () => {
      const { json } = requireStatus(await client.get('/portal/projections'), 200);
      const items = (json.items as readonly Row[]).filter(({ name }) => STOPPED.includes(String(name)));
      const isAtEnd = ({ state, lagEvents }: Row) => state === 'running' && lagEvents === 0;
      return (items.length === STOPPED.length && items.every(isAtEnd)) || undefined;
    });

  it('is listed with where it stands, at which event it stopped, and why', async () => {
    const stopped = await eventually('both have stopped on both nodes', async () => {
      const items = (await list()).filter(({ state }) => state === 'stopped');
      return items.length === STOPPED.length ? items : undefined;
    });
    expect(stopped.map(({ name }) => name)).to.have.members(STOPPED);
    for (const { owner, lagEvents, stopped: at } of stopped) {
      expect(owner).to.equal(null);
      expect(lagEvents, 'unknown on EventStoreDB').to.satisfy(
        (lag: number | null) => lag === null || lag > 0,
      );
      expect(at).to.deep.include({ code: 'consumer/poison_event' });
      expect(at).to.have.nested.property('event.id', eventId);
      expect(at).to.have.nested.property('event.stream', stream);
      expect(at).to.have.property('reason').that.includes('AccountCredited at revision 1');
    }
  });

  it('is a metric, ends the readiness of what does nothing else, and is named by the api, which stays ready', async () => {
    for (const worker of workers) {
      await eventually('the worker says so', async () => {
        const metric = await consumerMetric(worker.url, 'coffer_consumer_stopped');
        return STOPPED.every((name) => metric[name] === 1) || undefined;
      });
    }
    // While another worker tries once more, it owns the consumer, which is then not listed as stopped.
    for (const worker of workers) {
      await eventually('the worker is not ready, for the sake of all of them', async () => {
        const { status, body } = await ready(worker);
        expect([status, body.code]).to.deep.equal([503, 'service/not_ready']);
        const { stopped } = body.details as { readonly stopped: readonly unknown[] };
        return stopped.length === STOPPED.length || undefined;
      });
    }
    const { status, body } = await ready(api);
    expect([status, body.status]).to.deep.equal([200, 'ready']);
    const named = body.stopped as readonly Row[];
    expect(named.map(({ consumer }) => consumer)).to.have.members(STOPPED);
    for (const { code, position, event } of named) {
      expect(code).to.equal('consumer/poison_event');
      expect(position).to.match(/^\d+(\/\d+)?$/);
      expect(event).to.deep.equal({ id: eventId, type: 'AccountCredited' });
    }
    expect(JSON.stringify(body)).to.not.include('usr_');
  });

  it('skips nothing but the event at which it is stopped, and never without a reason', async () => {
    const refusals = [
      [await skip('readModels', randomUUID()), 1, 'portal/not_stopped_there'],
      [await skip('identities'), 1, 'portal/not_stopped_there'],
      [await skip('chain'), 1, 'portal/consumer_not_skippable'],
      [await skip('nobody'), 1, 'portal/consumer_not_found'],
      [await skip('readModels', eventId, ' '), 1, 'request/invalid'],
      [await coffer('consumers', 'skip', '--consumer', 'readModels', '--event', eventId), 2, '--reason'],
    ] as const;
    for (const [{ exitCode, stderr }, code, text] of refusals) {
      expect([exitCode, stderr]).to.satisfy(() => exitCode === code && stderr.includes(text), stderr);
    }
    expect((await list()).filter(({ state }) => state === 'stopped')).to.have.length(STOPPED.length);
  });

  it('continues after it on every node once told to, and answers a repeat like the first', async () => {
    const first = await skip('readModels');
    expect(first.exitCode, first.stderr).to.equal(0);
    expect(JSON.parse(first.stdout)).to.deep.include({
      consumer: 'readModels',
      eventId,
      stream,
      reason: REASON,
    });
    expect((await skip('readModels')).stdout).to.equal(first.stdout);
    expect((await skip('holds')).exitCode).to.equal(0);
    await areLive();
    expect((await skip('readModels')).stdout).to.equal(first.stdout);
    expect((await skip('readModels', eventId, 'another')).stderr).to.include('portal/already_skipped');
    await play();
    await areLive();
    for (const worker of workers) {
      await eventually('the worker is ready', async () => (await ready(worker)).status === 200 || undefined);
    }
    expect((await ready(api)).body).to.deep.equal({ status: 'ready' });
  });

  it('stands over a restart', async () => {
    for (const worker of workers) await worker.kill9();
    workers = [await startWorker()];
    await play();
    await areLive();
  });

  it('is passed over by a rebuild, and shown by each reconciliation for as long as it stands', async () => {
    const rebuilt = await coffer('--json', 'projections', 'rebuild', '--verify');
    expect(rebuilt.exitCode, rebuilt.stderr).to.equal(0);
    for (const mode of [[], ['--full']]) {
      const run = await coffer('--json', 'reconcile', '--app', app.appId, '--env', 'test', ...mode);
      expect(run.exitCode, run.stderr).to.equal(0);
      const { ok, warnings } = JSON.parse(run.stdout);
      expect(ok).to.equal(true);
      const common = { code: 'event_skipped', subject: `${stream} 1`, eventId, eventType: 'AccountCredited' };
      for (const consumer of STOPPED) {
        expect(warnings.find((one: Row) => one.consumer === consumer)).to.include({
          ...common,
          reason: REASON,
        });
      }
    }
    requireStatus(await test.reconcile(), 200);
  });

  it('is an event in the log, in a stream of ours', async () => {
    const { stdout } = await coffer('streams', 'show', `skip-test.${app.appId}.readModels`);
    const [line] = stdout.trim().split('\n');
    expect(JSON.parse(line ?? '')).to.deep.include({ type: 'EventSkipped', revision: 0 });
    const verified = await cofferJson('streams', 'verify');
    expect((verified.faults as readonly Row[]).map(({ stream: of, kind }) => [of, kind])).to.deep.equal([
      [stream, 'undecodable'],
    ]);
  });
});
