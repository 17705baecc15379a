/** For specs: data folders that are removed, services that can be killed, and one-off queries. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { type Account, firstClosedFolder, unprivilegedAccount } from '../account.ts';
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from '../embeddedPostgres.ts';
import { silentLogger } from '../logger.ts';
import { findPlace, removeDataFolder } from '../place.ts';
import { findPostmaster, stopPostmaster } from '../postmaster.ts';

export interface OwnerProcess {
  readonly process: ChildProcess;
  readonly connectionString: string;
  readonly postmasterPid: number;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

const unprivileged = await unprivilegedAccount();
/** A root user's own temporary folder may be closed to the server's user; these specs choose what is closed. */
const openFolder = unprivileged && (await firstClosedFolder(tmpdir(), unprivileged)) ? '/tmp' : tmpdir();

/** Folders and everything that runs in them, gone after each spec whatever its outcome. */
export class Workbench {
  readonly #folders: string[] = [];
  readonly #children: ChildProcess[] = [];

  /** `mode` 0700 is a folder that an unprivileged server's user cannot enter. */
  async folder(mode = 0o711, owner?: Account): Promise<string> {
    const folder = await mkdtemp(join(openFolder, 'coffer-embedded-'));
    await chmod(folder, mode);
    if (owner) await chown(folder, owner.uid, owner.gid);
    this.#folders.push(folder);
    return folder;
  }

  /** A folder inside one of these, with its own server or place to clean up. */
  async folderInside(name: string): Promise<string> {
    const folder = join(await this.folder(), name);
    await mkdir(folder);
    this.#folders.unshift(folder);
    return folder;
  }

  start(folder: string, options: Partial<EmbeddedPostgresOptions> = {}): Promise<EmbeddedPostgres> {
    return startEmbeddedPostgres({ folder, databases: ['coffer'], ...options });
  }

  async startOwner(folder: string, flags: readonly string[] = [], account?: Account): Promise<OwnerProcess> {
    const child = this.spawnOwner(folder, flags, account);
    const lines = createInterface({ input: child.stdout });
    let complaint = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint += text;
    });
    const [line] = await Promise.race([
      once(lines, 'line'),
      once(child, 'close').then(([code]) => {
        throw new Error(`The owner left with ${code} instead of starting: ${complaint}`);
      }),
    ]);
    const { connectionString, postmasterPid } = JSON.parse(line);
    return {
      process: child,
      connectionString,
      postmasterPid,
      async kill() {
        const exit = once(child, 'exit');
        child.kill('SIGKILL');
        await exit;
      },
      async stop() {
        const exit = once(child, 'exit');
        child.stdin.end();
        await exit;
      },
    };
  }

  spawnOwner(folder: string, flags: readonly string[] = [], account?: Account) {
    const child = spawn(
      process.execPath,
      [fileURLToPath(import.meta.resolve('./owner.ts')), '--folder', folder, ...flags],
      { ...account, cwd: '/', stdio: 'pipe' },
    );
    this.#children.push(child);
    return child;
  }

  async clear(): Promise<void> {
    for (const child of this.#children.splice(0)) child.kill('SIGKILL');
    for (const folder of this.#folders.splice(0)) {
      const place = await findPlace(folder, undefined, silentLogger).catch(() => undefined);
      const postmaster = place && (await findPostmaster(place));
      if (postmaster) await stopPostmaster(place, postmaster.pid);
      await removeDataFolder(folder);
    }
  }
}

/** The rows of one statement, on its own connection. */
export async function query(connectionString: string, text: string): Promise<readonly object[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** Repeats until the answer is yes; the runner's timeout is the limit. */
export async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10));
}

export async function failureOf(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('This should have failed.');
}
