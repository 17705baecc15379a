import { execFileSync } from 'node:child_process';
import { chmod, cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Account, firstClosedFolder, unprivilegedAccount } from './account.ts';
import { findBinaries, platformPackageFolder } from './binaries.ts';
import { statIfThere } from './files.ts';
import { silentLogger } from './logger.ts';
import { SYSTEM_FOLDER } from './place.ts';
import { query, until, Workbench } from './testing/workbench.ts';

/** Undefined for an ordinary user, who is then also the server's user. The expectations depend on it. */
const unprivileged = await unprivilegedAccount();

describe('the user that Postgres runs as', () => {
  const bench = new Workbench();
  afterEach(() => bench.clear());

  const expected = unprivileged ? 'unprivileged when the service is root' : 'the service’s own';
  it(`is ${expected}`, async () => {
    const folder = await bench.folder();
    const server = await bench.start(folder);
    const uid = unprivileged?.uid ?? process.getuid?.();
    expect((await stat(join(folder, 'postgres', 'data'))).uid).to.equal(uid);
    expect((await stat(join(folder, 'postgres', 'password'))).uid).to.equal(process.getuid?.());
    expect(await query(server.adminConnectionString, 'select 1 as one')).to.deep.equal([{ one: 1 }]);
    await server.stop();
  });

  const whereInClosed = unprivileged
    ? `under ${SYSTEM_FOLDER} when it cannot enter the folder`
    : 'in the folder';
  it(`has the cluster ${whereInClosed}, and nobody’s permissions change`, async () => {
    const folder = await bench.folder(0o700);
    const first = await bench.start(folder);
    await query(first.connectionString('coffer'), 'create table kept as select 7 as id');
    await first.stop();
    expect((await stat(folder)).mode & 0o777).to.equal(0o700);
    if (unprivileged) {
      const { clusterFolder } = JSON.parse(await readFile(join(folder, 'postgres.json'), 'utf8'));
      expect(clusterFolder).to.match(/^\/var\/lib\/coffer\/[0-9a-f]{16}\/postgres-[0-9a-f]{8}$/);
      expect(await statIfThere(join(folder, 'postgres'))).to.equal(undefined);
    } else {
      expect((await statIfThere(join(folder, 'postgres')))?.isDirectory()).to.equal(true);
    }

    const second = await bench.start(folder);
    expect(await query(second.connectionString('coffer'), 'select id from kept')).to.deep.equal([{ id: 7 }]);
    await second.stop();
  });

  it('cleans up after a start that was killed', async () => {
    const folder = await bench.folder(0o700);
    const killed = bench.spawnOwner(folder);
    await until(async () => (await readdir(folder)).length > 0);
    killed.kill('SIGKILL');
    await until(() => killed.signalCode !== null);

    const server = await bench.start(folder);
    expect(await readdir(folder)).to.deep.equal([unprivileged ? 'postgres.json' : 'postgres']);
    await server.stop();
  });

  it('can be an ordinary one, who needs nothing but a folder', async () => {
    // A checkout that the ordinary user cannot read at all: then the service itself proves it.
    const closed = unprivileged && (await firstClosedFolder(import.meta.filename, unprivileged));
    const account: Account | undefined = closed ? undefined : unprivileged;
    const folder = await bench.folder(account ? 0o700 : 0o711, account);
    const owner = await bench.startOwner(folder, [], account);
    expect(await query(owner.connectionString, 'show fsync')).to.deep.equal([{ fsync: 'on' }]);
    await owner.stop();
    const password = await stat(join(folder, 'postgres', 'password'));
    expect(password.uid).to.equal(account?.uid ?? process.getuid?.());
  });
});

describe('the Postgres programs', () => {
  const version = `0.0.0-spec-${process.pid}`;
  let home: string;

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'coffer-programs-'));
    await cp(platformPackageFolder(), home, { recursive: true, verbatimSymlinks: true });
    await writeFile(join(home, 'package.json'), JSON.stringify({ version }));
  });
  afterEach(async () => {
    await rm(home, { recursive: true, force: true });
    if (unprivileged) await rm(join(SYSTEM_FOLDER, `postgres-${version}`), { recursive: true, force: true });
  });

  const where = unprivileged ? 'copied when the server’s user cannot reach them' : 'run where npm put them';
  it(`are ${where}, with their links`, async () => {
    await chmod(home, 0o700);
    const { postgres } = await findBinaries(unprivileged, silentLogger, home);
    expect(postgres.startsWith(home)).to.equal(!unprivileged);
    const output = execFileSync(postgres, ['--version'], { ...unprivileged, cwd: '/', encoding: 'utf8' });
    expect(output).to.match(/^postgres \(PostgreSQL\) 18/);
  });

  it('get the links that a skipped install script did not make', async () => {
    const links: readonly { target: string }[] = JSON.parse(
      await readFile(join(home, 'native', 'pg-symlinks.json'), 'utf8'),
    );
    for (const { target } of links) await rm(join(home, target), { force: true });
    await chmod(home, 0o755);
    const { postgres } = await findBinaries(unprivileged, silentLogger, home);
    expect(execFileSync(postgres, ['--version'], { cwd: '/', encoding: 'utf8' })).to.contain('PostgreSQL');
    for (const { target } of links) expect((await stat(join(home, target))).isFile()).to.equal(true);
  });
});
