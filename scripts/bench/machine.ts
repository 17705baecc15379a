/** What figures depend on besides the code: the machine, its file system and the PostgreSQL of the run. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startEmbeddedPostgres } from '@coffer/embedded-postgres';
import pg from 'pg';
import type { Run } from './children.ts';
import { temporaryFolder } from './service.ts';

export interface MachineFacts {
  readonly cores: number;
  readonly model: string;
  readonly memoryMiB: number;
  readonly kernel: string;
  /** Of the folder with the log. */
  readonly fileSystem: string;
  readonly node: string;
  readonly platform: string;
  /** The commit, and whether files differ from it. */
  readonly commit: string;
  readonly postgres: { readonly version: string; readonly settings: Readonly<Record<string, string>> };
  /** Over 1, 5 and 15 minutes: what else kept the machine busy. */
  readonly loadAtStart: readonly number[];
  readonly loadAtEnd: readonly number[];
}

const DATABASE = 'coffer_bench';
const SETTINGS = [
  'fsync',
  'synchronous_commit',
  'wal_sync_method',
  'full_page_writes',
  'wal_compression',
  'wal_buffers',
  'max_wal_size',
  'checkpoint_timeout',
  'commit_delay',
  'shared_buffers',
  'max_connections',
  'jit',
];

/** To be called first: the load at the start is of before the run. */
export async function machineFacts(run: Run): Promise<Omit<MachineFacts, 'loadAtEnd'>> {
  const loadAtStart = loadavg();
  await using stack = run.stack.use(new AsyncDisposableStack());
  const folder = await temporaryFolder({ ...run, stack });
  const starting = startEmbeddedPostgres({ folder, databases: [DATABASE] });
  // Also stops a server that is still starting when the run is stopped; a failed start is reported below.
  stack.defer(async () => (await starting.catch(() => undefined))?.stop());
  return {
    cores: availableParallelism(),
    model: cpus()[0]?.model ?? 'unknown',
    memoryMiB: Math.round(totalmem() / 1024 / 1024),
    kernel: release(),
    fileSystem: await fileSystemOf(folder),
    node: process.version,
    platform: process.platform,
    commit: await commitOf(join(import.meta.dirname, '../..')),
    postgres: await postgresFacts((await starting).connectionString(DATABASE)),
    loadAtStart,
  };
}

async function postgresFacts(connectionString: string): Promise<MachineFacts['postgres']> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string; value: string }>(
      'select name, current_setting(name) as value from pg_settings where name = any($1) order by name',
      [['server_version', ...SETTINGS]],
    );
    const { server_version: version = 'unknown', ...settings } = Object.fromEntries(
      rows.map(({ name, value }) => [name, value]),
    );
    return { version, settings };
  } finally {
    await client.end();
  }
}

async function fileSystemOf(folder: string): Promise<string> {
  if (process.platform !== 'linux') return 'unknown';
  return fileSystemIn(await readFile('/proc/self/mounts', 'utf8'), folder);
}

/** The mount with the longest path that contains the folder; of several, the last covers the others. */
export function fileSystemIn(mounts: string, folder: string): string {
  let [best, type] = ['', 'unknown'];
  for (const line of mounts.split('\n')) {
    const [, path, kind] = line.split(' ');
    if (path === undefined || kind === undefined || path.length < best.length) continue;
    if (`${folder}/`.startsWith(path.endsWith('/') ? path : `${path}/`)) [best, type] = [path, kind];
  }
  return type;
}

const execute = promisify(execFile);

/** Unknown where there is no repository, as in the image. */
async function commitOf(folder: string): Promise<string> {
  try {
    const { stdout } = await execute('git', ['describe', '--always', '--dirty', '--abbrev=12'], {
      cwd: folder,
    });
    return stdout.trim();
  } catch {
    return 'unknown';
  }
}
