/** `coffer run` in every role: requests are answered in one thread, and the log is read in another. */
import { execFile } from 'node:child_process';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Pool } from '@coffer/database';
import {
  type AppPlace,
  consumerMetric,
  createClient,
  errorLines,
  requireStatus,
  setUpApp,
  textOf,
} from '@coffer/host/testing';
import { createTestDatabase, eventually, itLogTable, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { CONSUMERS } from './testing/consumers.ts';
import { caughtUpRows } from './testing/readModels.ts';
import {
  OPERATOR_TOKEN,
  type ServiceProcess,
  serviceProcesses,
  type Variables,
} from './testing/serviceProcess.ts';
import { serviceTemplate } from './testing/world.ts';

/** By their numbers in linux/capability.h and linux/sched.h. */
const CAP_SYS_NICE = 23n;
const ORDINARY = 0;
const IDLE = 5;
const MISTAKE = 'a mistake of ours';

describe('coffer run, in every role', () => {
  const processes = serviceProcesses();
  let database: TestDatabase;
  let pool: Pool;
  let mistake: string;
  let hang: string;
  let variables: Variables;
  let service: ServiceProcess;
  let place: AppPlace;

  const metricsOf = async ({ url }: ServiceProcess) => (await fetch(`${url}/metrics`)).text();

  before(async () => {
    database = await createTestDatabase(serviceTemplate);
    pool = database.pool;
    const dataFolder = await processes.newDataFolder();
    mistake = join(dataFolder, 'mistake');
    hang = join(dataFolder, 'hang');
    // In each thread but the main one: fails where nothing expects it, or hangs, while the file is there.
    const fails = `
      import { existsSync } from 'node:fs';
      import { isMainThread } from 'node:worker_threads';
      if (!isMainThread) setInterval(() => {
        if (existsSync(${JSON.stringify(mistake)})) throw new Error(${JSON.stringify(MISTAKE)});
        while (existsSync(${JSON.stringify(hang)}));
      }, 20).unref();`;
    variables = {
      COFFER_DATA_DIR: dataFolder,
      PORT: '0',
      DATABASE_URL: database.connectionString,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(fails)}`,
    };
    service = await processes.start({ dataFolder, variables });
    const client = createClient({ baseUrl: `${service.url}/v1`, operatorToken: OPERATOR_TOKEN });
    place = (await setUpApp(client)).test;
  });
  after(() => database.drop());

  it('tells the metrics of both threads, and those of the process once', async () => {
    await eventually('all consumers are live', async () => {
      const live = await consumerMetric(service.url, 'coffer_consumer_live');
      return CONSUMERS.every((name) => live[name] === 1) || undefined;
    });
    const text = await metricsOf(service);
    for (const thread of ['api', 'background']) {
      expect(text).to.include(`coffer_event_loop_delay_seconds{thread="${thread}",quantile="0.99"} `);
    }
    for (const name of [
      'process_resident_memory_bytes',
      'process_start_time_seconds',
      'coffer_state_cache_bytes',
    ]) {
      expect(
        text.split('\n').filter((line) => line.startsWith(name)),
        name,
      ).to.have.length(1);
    }
    expect(text).to.include('nodejs_heap_size_used_bytes{thread="background"} ');
    // Two semi-spaces of a third of its limit, whatever the command line says for the main thread.
    const young = /^nodejs_heap_space_size_total_bytes\{space="new",thread="background"\} (\d+)$/m.exec(
      text,
    )?.[1];
    expect(Number(young)).to.be.within(1, (2 * 24 * 1024 ** 2) / 3);
    expect(text).to.include('coffer_http_request_duration_seconds_count{method="POST"');
  });

  if (process.platform === 'linux') {
    it('gives the processor to the thread that answers requests first', async () => {
      const threads = await priorityByThread(service.pid);
      const ofMain = threads.get('MainThread')?.niceness ?? Number.NaN;
      expect(threads.get('V8Worker')).to.include({ niceness: Math.min(ofMain + 10, 19), policy: ORDINARY });
      const canYield = (await mayTakeBack(ofMain + 5)) && (await hasCommand('chrt'));
      await eventually(
        'what reads the log takes what others leave, if it can take its share back',
        async () => {
          const { niceness, policy } = (await priorityByThread(service.pid)).get('background') ?? {};
          if (!canYield) return (Number(niceness) <= ofMain + 6 && policy === ORDINARY) || undefined;
          return (niceness === ofMain + 5 && policy === IDLE) || undefined;
        },
      );
    });
  }

  it('tells the metrics of the thread that answers requests while the other one hangs', async () => {
    await writeFile(hang, '');
    await eventually(
      'the page says that it is not complete',
      async () => /^coffer_metrics_complete 0$/m.test(await metricsOf(service)) || undefined,
    );
    const text = await metricsOf(service);
    expect(text).to.include('coffer_event_loop_delay_seconds{thread="api",quantile="0.99"} ');
    expect(text).not.to.include('thread="background"');
    await rm(hang);
    await eventually('the page is complete', async () => {
      const whole = await metricsOf(service);
      return (
        (/^coffer_metrics_complete 1$/m.test(whole) && whole.includes('thread="background"')) || undefined
      );
    });
  });

  itLogTable(
    'its last rows are removed',
    'answers nothing from memory that a reader finds lost',
    async () => {
      const { sessionId } = await place.newSession('100');
      const bet = requireStatus(await place.bet({ sessionId, amount: '7' }), 200);
      const win = {
        sessionId,
        transactionUuid: 'win-1',
        betTransactionUuid: textOf(bet, 'transactionUuid'),
        amount: '50',
      };
      requireStatus(await place.win(win), 200);
      expect(await place.win(win)).to.include({ replayed: true });
      await caughtUpRows(database.connectionString);
      await pool.query('delete from log.events where position = (select max(position) from log.events)');
      await eventually('a reader has stopped', async () => {
        const { readModels } = await consumerMetric(service.url, 'coffer_consumer_stopped');
        return readModels === 1 || undefined;
      });
      expect(await place.win(win)).to.include({ status: 200, replayed: false });
    },
  );

  it('stops when the thread that reads the log fails, and says why, once', async () => {
    await writeFile(mistake, '');
    expect(await service.ended).to.include({ exitCode: 1, signal: null });
    // The readers of the log that was cut before this stop one after another.
    const [line, ...others] = errorLines(service.logs().split('\n')).filter(
      ({ code }) => code !== 'store/log_rewritten',
    );
    expect(line).to.deep.include({
      level: 'fatal',
      msg: 'a thread of the service has failed: this service stops',
    });
    expect(line).to.have.nested.property('err.message', MISTAKE);
    expect(others).to.deep.equal([]);
    expect(service.logs().split(MISTAKE), 'in message and stack of one line').to.have.length(3);
    expect(service.logs()).to.include('"msg":"stopped"');
  });

  it('does not start when that thread fails at its start', async () => {
    const end = await processes.command(['run'], variables);
    expect(end).to.include({ exitCode: 1, signal: null });
    expect(errorLines(end.stdout.split('\n')).map(({ msg }) => msg)).to.deep.equal([
      'a thread of the service has failed: this service stops',
    ]);
    expect(end.stdout).to.include('"msg":"stopped"').and.not.include('"msg":"ready"');
    expect(end.stderr).to.equal('A thread of the service has failed; the log says why.\n');
  });

  if (process.platform === 'linux') {
    it('stops when one of the threads that answer requests fails', async () => {
      await rm(mistake);
      const api = await processes.start({
        roles: ['api'],
        variables: { ...variables, COFFER_API_THREADS: '2' },
        until: 'listening',
      });
      await writeFile(mistake, '');
      expect(await api.ended).to.include({ exitCode: 1, signal: null });
      expect(errorLines(api.logs().split('\n')).map(({ msg }) => msg)).to.deep.equal([
        'a thread of the service has failed: this service stops',
      ]);
      expect(api.logs()).to.include('"msg":"stopped"');
    });
  }

  it('has one thread in a process that does not serve the API', async () => {
    const projector = await processes.start({
      roles: ['projector', 'reconciler'],
      variables: { DATABASE_URL: database.connectionString, COFFER_SYSTEM_PORT: '0' },
      until: 'listening',
    });
    const text = await metricsOf(projector);
    expect(text).to.include('coffer_event_loop_delay_seconds{thread="background",quantile="0.99"} ');
    expect(text).not.to.include('nodejs_heap_size_used_bytes{thread=');
    expect(await projector.terminate()).to.include({ exitCode: 0, signal: null });
  });
});

interface Priority {
  readonly niceness: number;
  readonly policy: number;
}

/** https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html: name in parentheses, then fields 19 and 41. */
async function priorityByThread(pid: number): Promise<ReadonlyMap<string, Priority>> {
  const priorities = new Map<string, Priority>();
  for (const thread of await readdir(`/proc/${pid}/task`)) {
    const text = await readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8');
    const [name = '', rest = ''] = text.slice(text.indexOf('(') + 1).split(') ');
    const fields = rest.split(' ').map(Number);
    priorities.set(name, { niceness: Number(fields[16]), policy: Number(fields[38]) });
  }
  return priorities;
}

/** Whether a process like this one may lower its niceness to this: as root, or within its limit, which counts from 20 down. */
async function mayTakeBack(niceness: number): Promise<boolean> {
  const status = await readFile('/proc/self/status', 'utf8');
  const limits = await readFile('/proc/self/limits', 'utf8');
  const capabilities = BigInt(`0x${/^CapEff:\s+(\w+)$/m.exec(status)?.[1]}`);
  const limit = Number(/^Max nice priority\s+(\d+)/m.exec(limits)?.[1]);
  return ((capabilities >> CAP_SYS_NICE) & 1n) === 1n || 20 - niceness <= limit;
}

const hasCommand = (name: string) =>
  promisify(execFile)(name, ['-m']).then(
    () => true,
    () => false,
  );
