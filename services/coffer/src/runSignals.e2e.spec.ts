/** How the service is stopped, as a terminal and a supervisor do it. Source: docs/operating/README.md, When a process dies. */
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { bootstrapFilePath, readBootstrapFile } from '@coffer/portal';
import { eventually } from '@coffer/testing';
import { expect } from 'chai';
import { type ServiceProcess, type StopSignal, serviceProcesses } from './testing/serviceProcess.ts';

describe('coffer run, when a signal is given to all of its process group', function () {
  this.timeout(60_000);
  const processes = serviceProcesses();
  let dataFolder: string;
  let service: ServiceProcess;

  const readBootstrap = async () => {
    const content = await readBootstrapFile(bootstrapFilePath(dataFolder));
    if (!content) throw new Error('There is no bootstrap file.');
    return content;
  };
  /** A request whose body is still to come: the service waits for it before it exits. */
  const halfARequest = async () => {
    const { keys } = await readBootstrap();
    const { hostname, port } = new URL(service.url);
    const request = httpRequest({
      hostname,
      port,
      method: 'POST',
      path: '/v1/ledger/bet',
      headers: {
        Authorization: `Bearer ${keys.test.secret}`,
        'Content-Type': 'application/json',
        'Content-Length': 2,
        Expect: '100-continue',
      },
    });
    request.flushHeaders();
    await once(request, 'continue');
    return request;
  };
  /** From everything it has logged. */
  const levels = () =>
    service
      .logs()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line).level);
  const stopping = (signal: StopSignal) =>
    eventually('it stops', () => service.logs().includes(`"signal":"${signal}"`) || undefined);

  before(async () => {
    dataFolder = await processes.newDataFolder();
  });
  beforeEach(async () => {
    service = await processes.start({ dataFolder });
  });

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    it(`${signal} leaves its database and its chain to it until what is in flight is done`, async () => {
      const { chainUrl = 'none' } = await readBootstrap();
      const request = await halfARequest();
      service.signalGroup(signal);
      await stopping(signal);
      const health = { jsonrpc: '2.0', id: 1, method: 'getHealth' };
      const asked = { method: 'POST', body: JSON.stringify(health) };
      const headers = { 'Content-Type': 'application/json' };
      expect((await fetch(chainUrl, { ...asked, headers })).status).to.equal(200);
      request.end('{}');
      const [answer] = await once(request, 'response');
      expect(answer.statusCode).to.equal(400);
      answer.resume();

      expect(await service.ended).to.include({ exitCode: 0, signal: null });
      expect(new Set(levels())).to.deep.equal(new Set(['info']));
    });
  }

  it('SIGTERM to every one of its processes, its database as well, ends it in order all the same', async () => {
    const request = await halfARequest();
    terminate(processesOf(service.pid));
    await stopping('SIGTERM');
    await eventually('the database is gone before it', () => {
      // A connection being opened at that moment has a process that nobody had seen.
      terminate(processesOf(service.pid).slice(1));
      return service.logs().includes('the database of the data folder is lost') || undefined;
    });
    request.end('{}');
    const [answer] = await once(request, 'response');
    answer.resume();
    expect(await service.ended).to.include({ exitCode: 0, signal: null });
    expect(levels()).not.to.include('error').and.not.to.include('fatal');
  });

  it('SIGTERM to all of them ends it in order also where it is too busy to notice until the others are gone', async () => {
    const [, ...others] = processesOf(service.pid);
    process.kill(service.pid, 'SIGSTOP');
    terminate([service.pid]);
    await untilGone(others);
    process.kill(service.pid, 'SIGCONT');
    expect(await service.ended, service.logs()).to.include({ exitCode: 0, signal: null });
    expect(levels(), service.logs()).not.to.include('error').and.not.to.include('fatal');
  });

  it('ends with code 1 and says why when only its database is ended', async () => {
    const pid = Number(/"postmasterPid":(\d+)/.exec(service.logs())?.[1]);
    process.kill(pid, 'SIGKILL');
    const { exitCode, stderr } = await service.ended;
    expect(exitCode, service.logs()).to.equal(1);
    expect(levels()).to.include('fatal');
    expect(stderr).to.include('The database of the data folder was lost; the log says why.');
  });

  it('takes one Ctrl-C that reaches it twice, from the terminal and from what has started it, for one', async () => {
    process.kill(service.pid, 'SIGINT');
    process.kill(service.pid, 'SIGTERM');
    expect(await service.ended).to.include({ exitCode: 0, signal: null });
  });

  it('ends at once at a second Ctrl-C, and is whole at the next start', async () => {
    const request = await halfARequest();
    const broken = once(request, 'error');
    service.signalGroup('SIGINT');
    await stopping('SIGINT');
    const again = setInterval(() => void service.terminate('SIGINT'), 50);
    void service.ended.then(() => clearInterval(again));
    expect(await service.ended).to.include({ exitCode: 130, signal: null });
    await broken;

    service = await processes.start({ dataFolder, until: 'listening' });
    const { baseUrl, keys } = await readBootstrap();
    const headers = { Authorization: `Bearer ${keys.test.secret}` };
    expect((await fetch(`${baseUrl}/ledger/reconcile`, { headers })).status).to.equal(200);
    expect(await service.terminate()).to.include({ exitCode: 0, signal: null });
  });

  it('during the first start ends it in order, with the database whole, and shows no keys', async () => {
    expect(await service.terminate()).to.include({ exitCode: 0 });
    dataFolder = await processes.newDataFolder();
    const variables = { PORT: '0', COFFER_DATA_DIR: dataFolder };
    const start = processes.startCommand(['run'], variables);
    await eventually('the cluster is being made', async () => {
      const names = await readdir(dataFolder);
      return names.some((name) => name.includes('.draft-')) || undefined;
    });
    start.interruptGroup();
    const end = await start.ended;
    expect(end, end.stderr).to.include({ exitCode: 0, signal: null });
    expect(end.stdout + end.stderr)
      .not.to.include('"ready"')
      .and.not.to.include('sk_');

    service = await processes.start({ dataFolder });
    expect(service.logs()).to.include((await readBootstrap()).keys.test.secret);
    expect(await service.terminate()).to.include({ exitCode: 0 });
  });
});

/** The process and all its descendants: what a supervisor calls a unit. */
function processesOf(pid: number): readonly number[] {
  const pairs = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  const descendantsOf = (parent: number): readonly number[] =>
    pairs.flatMap(([child = 0, of]) => (of === parent ? [child, ...descendantsOf(child)] : []));
  return [pid, ...descendantsOf(pid)];
}

/** Ends also those that they start at that moment. */
const untilGone = (pids: readonly number[]) =>
  eventually('they are gone', () => {
    terminate(pids.flatMap(processesOf));
    return !pids.some(isRunning) || undefined;
  });

/** One that has ended and was not waited for does not run. */
const isRunning = (pid: number): boolean =>
  /^[^Z]/.test(spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout);

/** Even if some of them are already gone. */
function terminate(pids: readonly number[]): void {
  spawnSync('kill', ['-TERM', ...pids.map(String)]);
}
