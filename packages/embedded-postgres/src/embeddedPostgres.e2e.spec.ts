import { spawn } from 'node:child_process';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { unprivilegedAccount } from './account.ts';
import { findEmbeddedPostgres } from './embeddedPostgres.ts';
import { DataFolderInUseError, EmbeddedPostgresError } from './errors.ts';
import { statIfThere } from './files.ts';
import { commandLineOf } from './processes.ts';
import { failureOf, query, until, Workbench } from './testing/workbench.ts';

describe('the embedded Postgres', () => {
  const bench = new Workbench();
  afterEach(() => bench.clear());

  it('makes a durable cluster with its databases in an empty folder', async () => {
    const folder = await bench.folder();
    const server = await bench.start(folder, { databases: ['coffer', 'Other-1'] });
    expect(await query(server.connectionString('coffer'), 'select current_user as name')).to.deep.equal([
      { name: 'coffer' },
    ]);
    expect(await query(server.connectionString('Other-1'), 'show fsync')).to.deep.equal([{ fsync: 'on' }]);
    expect(await query(server.adminConnectionString, 'show synchronous_commit')).to.deep.equal([
      { synchronous_commit: 'on' },
    ]);
    expect((await stat(join(folder, 'postgres', 'data'))).mode & 0o777).to.equal(0o700);
    expect((await stat(join(folder, 'postgres', 'password'))).mode & 0o777).to.equal(0o600);
    await server.stop();
  });

  it('writes often and a little at a time, so that no commit waits for much', async () => {
    const server = await bench.start(await bench.folder());
    const settings = {
      wal_segment_size: '4MB',
      min_wal_size: '256MB',
      bgwriter_lru_maxpages: '1000',
      bgwriter_delay: '100ms',
      checkpoint_timeout: '30s',
      checkpoint_completion_target: '0.1',
      autovacuum_naptime: '15s',
      autovacuum_vacuum_cost_delay: '5ms',
    };
    const rows = Object.entries(settings).map(([name, setting]) => ({ name, setting }));
    expect(
      await query(
        server.adminConnectionString,
        `select name, current_setting(name) as setting from unnest('{${Object.keys(settings)}}'::text[]) as name`,
      ),
    ).to.deep.equal(rows);
    await server.stop();
  });

  it('lets nobody in without the password, neither by loopback nor by its socket', async () => {
    const server = await bench.start(await bench.folder());
    for (const address of [server.adminConnectionString, server.socketConnectionString('postgres')]) {
      const url = new URL(address);
      url.password = 'guess';
      expect(await failureOf(query(url.href, 'select 1'))).to.include({ code: '28P01' });
    }
    await server.stop();
  });

  it('is reached by its socket, and by loopback by those who are not told of it', async () => {
    const server = await bench.start(await bench.folder());
    const wayOf = (address: string) =>
      query(address, `select case when inet_server_addr() is null then 'socket' else 'loopback' end as way`);
    expect(await wayOf(server.socketConnectionString('coffer'))).to.deep.equal([{ way: 'socket' }]);
    expect(await wayOf(server.connectionString('coffer'))).to.deep.equal([{ way: 'loopback' }]);
    await server.stop();
  });

  it('is found by others in its folder while it runs, and only then', async () => {
    const folder = await bench.folder();
    expect(await findEmbeddedPostgres(folder)).to.equal(undefined);
    const server = await bench.start(folder);
    const found = await findEmbeddedPostgres(folder);
    expect(found?.('coffer')).to.equal(server.connectionString('coffer'));
    await server.stop();
    expect(await findEmbeddedPostgres(folder)).to.equal(undefined);
  });

  it('keeps its data and its port over a stop, which leaves no process', async () => {
    const folder = await bench.folder();
    const first = await bench.start(folder);
    await query(first.connectionString('coffer'), 'create table kept as select 7 as id');
    await first.stop();
    expect(await commandLineOf(first.postmasterPid)).to.equal('');
    expect(await statIfThere(join(folder, 'postgres', 'data', 'postmaster.pid'))).to.equal(undefined);

    const second = await bench.start(folder);
    expect(second.adminConnectionString).to.equal(first.adminConnectionString);
    expect(await query(second.connectionString('coffer'), 'select id from kept')).to.deep.equal([{ id: 7 }]);
    await second.stop();
  });

  it('takes another port if its own is taken', async () => {
    const folder = await bench.folder();
    const first = await bench.start(folder);
    const port = new URL(first.adminConnectionString).port;
    await first.stop();
    const squatter = createServer().listen(Number(port), '127.0.0.1');
    await until(() => squatter.listening);

    const second = await bench.start(folder);
    expect(new URL(second.adminConnectionString).port).not.to.equal(port);
    expect(await query(second.adminConnectionString, 'select 1 as one')).to.deep.equal([{ one: 1 }]);
    await second.stop();
    squatter.close();
  });

  it('serves from a folder whose path is too long for a socket', async () => {
    const folder = await bench.folderInside('x'.repeat(90));
    const server = await bench.start(folder);
    const [row] = await query(server.adminConnectionString, 'show unix_socket_directories');
    expect(row)
      .to.have.property('unix_socket_directories')
      .that.matches(/^\/tmp\/coffer-[0-9a-f]{16}$/);
    await server.stop();
  });
});

describe('the embedded Postgres after a crash', () => {
  const bench = new Workbench();
  afterEach(() => bench.clear());

  it('is adopted while running if only the service was killed', async () => {
    const folder = await bench.folder();
    const owner = await bench.startOwner(folder);
    await query(owner.connectionString, 'create table kept as select 7 as id');
    await owner.kill();

    const server = await bench.start(folder);
    expect(server.postmasterPid).to.equal(owner.postmasterPid);
    expect(await query(server.connectionString('coffer'), 'select id from kept')).to.deep.equal([{ id: 7 }]);
    await server.stop();
    expect(await commandLineOf(owner.postmasterPid)).to.equal('');
  });

  it('is restarted if it was left with other settings', async () => {
    const folder = await bench.folder();
    const owner = await bench.startOwner(folder, ['--fragile']);
    expect(await query(owner.connectionString, 'show fsync')).to.deep.equal([{ fsync: 'off' }]);
    await owner.kill();

    const server = await bench.start(folder);
    expect(server.postmasterPid).not.to.equal(owner.postmasterPid);
    expect(await query(server.adminConnectionString, 'show fsync')).to.deep.equal([{ fsync: 'on' }]);
    await server.stop();
  });

  it('recovers if the server was killed too', async () => {
    const folder = await bench.folder();
    const owner = await bench.startOwner(folder);
    await query(owner.connectionString, 'create table kept as select 7 as id');
    await owner.kill();
    process.kill(owner.postmasterPid, 'SIGKILL');

    const server = await bench.start(folder);
    expect(await query(server.connectionString('coffer'), 'select id from kept')).to.deep.equal([{ id: 7 }]);
    await server.stop();
  });

  it('starts if the pid of the dead server now belongs to another program', async () => {
    const folder = await bench.folder();
    const owner = await bench.startOwner(folder);
    const pidFile = join(folder, 'postgres', 'data', 'postmaster.pid');
    await owner.kill();
    process.kill(owner.postmasterPid, 'SIGKILL');
    await until(async () => (await commandLineOf(owner.postmasterPid)) === '');
    // Of the same user as the server: to Postgres itself, another user's process does not count.
    const other = spawn('sleep', ['60'], { ...(await unprivilegedAccount()), cwd: '/' });
    const lines = (await readFile(pidFile, 'utf8')).split('\n');
    await writeFile(pidFile, [other.pid, ...lines.slice(1)].join('\n'));

    const server = await bench.start(folder);
    expect(await query(server.adminConnectionString, 'select 1 as one')).to.deep.equal([{ one: 1 }]);
    expect(await commandLineOf(other.pid ?? 0)).to.equal('sleep 60');
    await server.stop();
    other.kill();
  });

  it('begins again if the service was killed while the cluster was made', async () => {
    const folder = await bench.folder();
    const killed = bench.spawnOwner(folder);
    await until(async () => (await readdir(folder)).some((name) => name.includes('draft')));
    killed.kill('SIGKILL');
    await until(() => killed.signalCode !== null);
    expect(await statIfThere(join(folder, 'postgres'))).to.equal(undefined);

    const server = await bench.start(folder);
    expect(await readdir(folder)).to.deep.equal(['postgres']);
    await server.stop();
  });

  it('does not start afresh if a cluster that was elsewhere is not found', async () => {
    const folder = await bench.folder();
    const pointer = { clusterFolder: join(folder, 'nowhere'), initialized: true };
    await writeFile(join(folder, 'postgres.json'), JSON.stringify(pointer));
    const failure = await failureOf(bench.start(folder));
    expect(failure).to.be.instanceOf(EmbeddedPostgresError);
    expect(failure.message).to.contain('is not there');
  });
});

describe('the owner of a data folder', () => {
  const bench = new Workbench();
  afterEach(() => bench.clear());

  it('is named to a second service, which leaves the server alone', async () => {
    const folder = await bench.folder();
    const owner = await bench.startOwner(folder);
    const failure = await failureOf(bench.start(folder));
    expect(failure).to.be.instanceOf(DataFolderInUseError);
    expect(failure.message).to.contain(`pid ${owner.process.pid}`);
    expect(await query(owner.connectionString, 'select 1 as one')).to.deep.equal([{ one: 1 }]);
    await owner.stop();
    expect(await commandLineOf(owner.postmasterPid)).to.equal('');
  });

  it('is one of two that start at once in an empty folder', async () => {
    const folder = await bench.folder();
    const outcomes = await Promise.allSettled([bench.start(folder), bench.startOwner(folder)]);
    const [refused] = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(String(refused?.reason)).to.contain('DataFolderInUseError');
    const [won, ...others] = outcomes.flatMap((outcome) =>
      outcome.status === 'fulfilled' ? [outcome.value] : [],
    );
    expect(others).to.deep.equal([]);
    await won?.stop();
    expect(await commandLineOf(won?.postmasterPid ?? 0)).to.equal('');
  });

  it('regains it after its connection was cut', async () => {
    const folder = await bench.folder();
    const said: string[] = [];
    const logger = {
      info: (_fields: object, message: string) => said.push(message),
      warn: (_fields: object, message: string) => said.push(message),
    };
    const server = await bench.start(folder, { logger });
    await query(
      server.adminConnectionString,
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'coffer owner%'`,
    );
    await until(() => said.includes('owns the data folder again'));
    expect(await failureOf(bench.start(folder))).to.be.instanceOf(DataFolderInUseError);
    await server.stop();
  });

  it('is told if its server has died', async () => {
    const { promise: lost, resolve: onLost } = Promise.withResolvers<Error>();
    const server = await bench.start(await bench.folder(), { onLost });
    process.kill(server.postmasterPid, 'SIGKILL');
    expect((await lost).message).to.contain('has died');
    await server.stop();
  });
});
