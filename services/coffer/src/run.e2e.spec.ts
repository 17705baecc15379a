/**
 * `coffer run` and the command line as an operator uses them. Source: contract, Apps, keys, currencies and
 * The command line.
 */
import { readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { withPool } from '@coffer/database';
import { findEmbeddedPostgres } from '@coffer/embedded-postgres';
import { createClient } from '@coffer/host/testing';
import { bootstrapFilePath, operatorFilePath } from '@coffer/portal';
import { createTestDatabase, eventually } from '@coffer/testing';
import { expect } from 'chai';
import { z } from 'zod';
import { expectBooksToBalance } from './testing/books.ts';
import { isRunning } from './testing/processTable.ts';
import {
  type ProcessEnd,
  type ServiceProcess,
  serviceProcesses,
  type Variables,
} from './testing/serviceProcess.ts';

/** Without it, the service generates a token and stores it in its data folder. */
const OWN_TOKEN = { COFFER_OPERATOR_TOKEN: '' };
const NO_STACK = /^\s+at /m;

const keyPair = z.strictObject({ publishable: z.string(), secret: z.string() });
const bootstrap = z.strictObject({
  baseUrl: z.string().endsWith('/v1'),
  appId: z.string().startsWith('app_'),
  keys: z.strictObject({ test: keyPair, live: keyPair }),
  messenger: z.strictObject({ botToken: z.string() }),
  portalUrl: z.string(),
  portalToken: z.string(),
  chainUrl: z.url(),
});

describe('coffer run, with nothing but a data folder', () => {
  // The first start makes a database cluster.
  const processes = serviceProcesses();
  let dataFolder: string;
  let service: ServiceProcess;
  let userId: string;
  let sessionId: string;

  const start = async (until: 'ready' | 'listening' = 'ready') => {
    service = await processes.start({ dataFolder, variables: OWN_TOKEN, until });
  };
  const readBootstrap = async () =>
    bootstrap.parse(JSON.parse(await readFile(bootstrapFilePath(dataFolder), 'utf8')));
  const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
  const postmasterPid = async () =>
    Number.parseInt(await readFile(join(dataFolder, 'postgres', 'data', 'postmaster.pid'), 'utf8'), 10);

  const coffer = (line: string, variables: Variables = {}) =>
    processes.command(line.split(' '), { COFFER_DATA_DIR: dataFolder, ...variables });
  /** The single JSON document that a command prints. */
  const answer = async (line: string) => {
    const end = await coffer(`--json ${line}`);
    expect(end, end.stderr).to.include({ exitCode: 0, stderr: '' });
    return JSON.parse(end.stdout);
  };
  const inDemo = async () => `--app ${(await readBootstrap()).appId} --env test`;
  const account = async () => `${await inDemo()} --user ${userId} --currency CHIP`;

  before(async () => {
    dataFolder = await processes.newDataFolder();
    await start();
  });

  it('is connected to its database by the socket, but for the connection that owns the folder', async () => {
    const connectionString = await findEmbeddedPostgres(dataFolder);
    const byLoopback = await withPool(connectionString?.('coffer') ?? '', async (pool) => {
      const { rows } = await pool.query<{ name: string }>(
        `select application_name as name from pg_stat_activity
          where backend_type = 'client backend' and client_addr is not null and pid <> pg_backend_pid()`,
      );
      return rows.map(({ name }) => name);
    });
    expect(byLoopback).to.have.length(1);
    expect(byLoopback[0]).to.match(/^coffer owner, /);
  });

  it('makes the app "Demo" and leaves its keys in a file that is only for its owner', async () => {
    const { baseUrl, appId, keys, chainUrl } = await readBootstrap();
    expect(baseUrl).to.equal(`${service.url}/v1`);
    expect(service.logs()).to.include(`Solana chain of test: ${chainUrl}\n`);
    expect(await modeOf(bootstrapFilePath(dataFolder))).to.equal('600');
    expect(await modeOf(operatorFilePath(dataFolder))).to.equal('600');
    for (const environment of ['test', 'live'] as const) {
      expect(keys[environment].publishable).to.match(new RegExp(`^pk_${environment}_`));
      expect(keys[environment].secret).to.match(new RegExp(`^sk_${environment}_`));
    }
    expect((await answer(`currencies list --app ${appId}`)).items).to.deep.include.members([
      { id: 1, code: 'SOL', decimals: 9, mint: { test: 'native', live: 'native' } },
    ]);
  });

  it('shows the secret keys on the terminal, once, and never in the log', async () => {
    const { keys } = await readBootstrap();
    const logLines = service
      .logs()
      .split('\n')
      .filter((line) => line.startsWith('{'));
    for (const { secret } of [keys.test, keys.live]) {
      expect(service.logs().split(secret)).to.have.length(2);
      expect(logLines.join('\n')).not.to.include(secret);
    }
  });

  it('registers players and adjusts their funds from the command line, once a reference', async () => {
    userId = (await answer(`users create ${await inDemo()}`)).userId;
    const credit = `accounts credit ${await account()} --amount 1000 --ref first --reason welcome`;
    expect(await answer(credit)).to.deep.equal({ available: '1000', held: '0' });
    expect(await answer(credit)).to.deep.equal({ available: '1000', held: '0' });
    expect(await answer(`accounts debit ${await account()} --amount 100 --ref second`)).to.deep.equal({
      available: '900',
      held: '0',
    });
    const refused = await coffer(`accounts debit ${await account()} --amount 901 --ref third`);
    expect(refused).to.include({ exitCode: 1, stdout: '' });
    expect(refused.stderr).to.include('accounts/insufficient_funds').and.not.match(NO_STACK);
    expect(await answer(`accounts show ${await account()}`)).to.deep.equal({ available: '900', held: '0' });
  });

  it('takes the keys of the file, and settles a stranded play session from the command line', async () => {
    const { baseUrl, keys, portalToken } = await readBootstrap();
    const client = createClient({ baseUrl, operatorToken: portalToken });
    const opened = await client.post(
      '/ledger/sessions',
      { userId, gameCode: 'dice', currency: 'CHIP', lockAmount: '400' },
      { key: keys.test.secret },
    );
    expect(opened.status, opened.text).to.equal(201);
    sessionId = String(opened.json.sessionId);

    const open = await eventually('the session is in the list', async () => {
      const { items } = await answer(`sessions list ${await inDemo()} --status open`);
      return items.length > 0 ? items : undefined;
    });
    expect(open).to.have.length(1);
    expect(open[0]).to.include({ sessionId, userId, balance: '400' });
    const settled = await answer(`sessions settle ${await inDemo()} --session ${sessionId}`);
    expect(settled).to.include({ sessionId, payout: '400', status: 'settled' });
    expect(await answer(`accounts show ${await account()}`)).to.deep.equal({ available: '900', held: '0' });
  });

  it('shows the events as they are stored, in order', async () => {
    const { appId } = await readBootstrap();
    const stream = `playSession-test.${appId}.${sessionId}`;
    const [list, shown, exported] = await Promise.all([
      coffer(`streams list --app ${appId} --env test`),
      coffer(`streams show ${stream}`),
      coffer(`streams export --app ${appId}`),
    ]);
    expect(list).to.include({ exitCode: 0 });
    expect(list.stdout).to.include(stream);
    const lines = (end: ProcessEnd) => end.stdout.trimEnd().split('\n');
    expect(lines(shown).map((line) => JSON.parse(line).type)).to.deep.equal([
      'SessionOpened',
      'SessionSettled',
    ]);
    expect(lines(exported)).to.include.members(lines(shown));
    expect(lines(exported).map((line) => JSON.parse(line).type)).to.deep.equal([
      'UserRegistered',
      'AccountCredited',
      'AccountDebited',
      'FundsHeld',
      'SessionOpened',
      'SessionSettled',
      'HoldClosed',
    ]);
    expect(await coffer('streams show nonsense')).to.include({ exitCode: 1 });
  });

  it('says so to a second service on the same folder, and goes on unharmed', async () => {
    const second = await coffer('run', { PORT: '0' });
    expect(second).to.include({ exitCode: 1, signal: null });
    expect(second.stderr).to.include(dataFolder).and.include(`pid ${service.pid}`).and.not.match(NO_STACK);
    expect(await answer(`accounts show ${await account()}`)).to.deep.equal({ available: '900', held: '0' });
  });

  it('leaves no process behind when it is interrupted', async () => {
    const pid = await postmasterPid();
    expect(await isRunning(pid)).to.equal(true);
    expect(await service.terminate('SIGINT')).to.include({ exitCode: 0, signal: null });
    expect(await isRunning(pid)).to.equal(false);

    const alone = await coffer(`accounts show ${await account()}`);
    expect(alone).to.include({ exitCode: 3, stdout: '' });
    expect(alone.stderr).to.include('npm start').and.not.match(NO_STACK);
  });

  it('has its funds, its users and its keys again after the next start', async () => {
    const { baseUrl: _, portalUrl: _url, chainUrl: _chain, ...before } = await readBootstrap();
    await start();
    const { baseUrl, portalUrl: _after, chainUrl: _chainAfter, ...after } = await readBootstrap();
    expect(after).to.deep.equal(before);
    expect(baseUrl).to.equal(`${service.url}/v1`);
    expect(service.logs()).not.to.include(after.keys.test.secret);
    expect(await answer(`accounts show ${await account()}`)).to.deep.equal({ available: '900', held: '0' });
  });

  it('goes on after it was killed hard, on the database server that was left running', async () => {
    const pid = await postmasterPid();
    await service.kill9();
    expect(await isRunning(pid)).to.equal(true);
    // The read models wait until the killed one's lease has expired; the ledger does not.
    await start('listening');
    expect(await postmasterPid()).to.equal(pid);
    const credit = `accounts credit ${await account()} --amount 50 --ref after-the-kill`;
    expect(await answer(credit)).to.deep.equal({ available: '950', held: '0' });
    const { baseUrl, portalToken } = await readBootstrap();
    await expectBooksToBalance(createClient({ baseUrl, operatorToken: portalToken }));
    expect(await service.terminate()).to.include({ exitCode: 0, signal: null });
    expect(await isRunning(pid)).to.equal(false);
  });
});

describe('coffer run, on a database that it is given', () => {
  const processes = serviceProcesses();

  it('sets up an empty one, serves, makes no app, and leaves at SIGTERM', async () => {
    const database = await createTestDatabase();
    const dataFolder = await processes.newDataFolder();
    const variables = { ...OWN_TOKEN, DATABASE_URL: database.connectionString, COFFER_OPERATOR_PORT: '0' };
    const service = await processes.start({ dataFolder, variables });
    expect((await fetch(`${service.url}/v1/portal/apps`)).status, 'elsewhere').to.equal(404);
    const apps = await processes.command(['--json', 'apps', 'list'], { COFFER_DATA_DIR: dataFolder });
    expect(apps).to.include({ exitCode: 0, stderr: '' });
    expect(JSON.parse(apps.stdout)).to.deep.equal({ items: [] });
    const end = await service.terminate();
    expect(end).to.include({ exitCode: 0, signal: null, stderr: '' });
    // Fails if a connection is still open.
    await database.drop();
  });

  it('serves health and metrics alone where it does not serve the API, when it is told a port', async () => {
    const database = await createTestDatabase();
    const variables = {
      DATABASE_URL: database.connectionString,
      COFFER_SYSTEM_PORT: '0',
      COFFER_RECONCILE_CORN: '0 4 * * *',
    };
    const service = await processes.start({ roles: ['projector', 'reconciler'], variables });
    expect(service.logs()).to.include('did you mean COFFER_RECONCILE_CRON?');
    const metrics = await eventually('both consumers are live', async () => {
      const text = await (await fetch(`${service.url}/metrics`)).text();
      const isLive = (consumer: string) => text.includes(`coffer_consumer_live{consumer="${consumer}"} 1`);
      return ['readModels', 'chain'].every(isLive) ? text : undefined;
    });
    expect(metrics).to.include('# TYPE coffer_reconcile_ok gauge');
    expect((await fetch(`${service.url}/healthz`)).status).to.equal(200);
    expect((await fetch(`${service.url}/v1/ledger/reconcile`)).status).to.equal(404);
    expect(await service.terminate()).to.include({ exitCode: 0, signal: null });
    await database.drop();
  });

  it('says when its port is taken', async () => {
    const squatter = createServer().listen(0, '127.0.0.1');
    await eventually('the port is taken', () => squatter.listening || undefined);
    const address = squatter.address();
    const port = typeof address === 'object' && address ? String(address.port) : '';
    const database = await createTestDatabase();
    const end = await processes.command(['run'], {
      COFFER_DATA_DIR: await processes.newDataFolder(),
      DATABASE_URL: database.connectionString,
      PORT: port,
    });
    squatter.close();
    expect(end).to.include({ exitCode: 1, signal: null });
    expect(end.stderr).to.include(`The port ${port} is taken`).and.not.match(NO_STACK);
    await database.drop();
  });

  it('says when the database is too old, what is new enough and what to do, and leaves it alone', async () => {
    const database = await createTestDatabase();
    const { pool } = database;
    // The server reports its version through this function, which is looked up here first.
    await pool.query(`
      create function public.current_setting(text) returns text language sql as
        $$ select case $1 when 'server_version_num' then '140019' else '14.19' end $$`);
    const { rows } = await pool.query<{ name: string }>('select current_database() as name');
    await pool.query(`alter database ${rows[0]?.name} set search_path = public, pg_catalog`);
    const end = await processes.command(['run'], {
      COFFER_DATA_DIR: await processes.newDataFolder(),
      DATABASE_URL: database.connectionString,
      PORT: '0',
    });
    expect(end).to.include({ exitCode: 1, signal: null });
    expect(end.stderr)
      .to.match(/PostgreSQL 14\.19.* 15 to 18/)
      .and.include('DATABASE_URL');
    expect(end.stderr).not.to.match(NO_STACK);
    const made = await pool.query(`select from pg_namespace where nspname in ('log', 'records')`);
    expect(made.rows).to.have.length(0);
    await database.drop();
  });

  it('says when the database does not answer', async () => {
    const end = await processes.command(['run'], {
      COFFER_DATA_DIR: await processes.newDataFolder(),
      DATABASE_URL: 'postgres://nobody:nothing@127.0.0.1:1/nowhere',
      PORT: '0',
    });
    expect(end).to.include({ exitCode: 1, signal: null });
    expect(end.stderr).to.include('DATABASE_URL').and.not.match(NO_STACK);
  });
});

describe('coffer run, with a wrong configuration', () => {
  const processes = serviceProcesses();

  it('prints every problem at once and starts nothing', async () => {
    const end = await processes.command(['run'], {
      PORT: 'eighty',
      DATABASE_URL: 'mysql://localhost/coffer',
      LOG_LEVEL: 'loud',
      COFFER_SECRETS_KEY: 'short',
      COFFER_OPERATOR_TOKEN: 'short',
      COFFER_REACTION_GRACE_MS: '-1',
    });
    expect(end).to.include({ exitCode: 2, signal: null, stdout: '' });
    expect(end.stderr).not.to.match(NO_STACK);
    for (const name of [
      'PORT',
      'DATABASE_URL',
      'LOG_LEVEL',
      'COFFER_SECRETS_KEY',
      'COFFER_OPERATOR_TOKEN',
      'COFFER_REACTION_GRACE_MS',
    ]) {
      expect(end.stderr).to.match(new RegExp(`^  ${name}: `, 'm'));
    }
  });

  it('names the roles there are', async () => {
    const end = await processes.command(['run', 'api', 'croupier'], {});
    expect(end).to.include({ exitCode: 2, signal: null, stdout: '' });
    expect(end.stderr).to.include('croupier').and.include('process-manager').and.not.match(NO_STACK);
  });
});
