/** Makes the cluster, once: prepared next to its place and renamed into it, so a killed start leaves no half. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chown, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Account } from './account.ts';
import type { Binaries } from './binaries.ts';
import { EmbeddedPostgresError } from './errors.ts';
import { hasCode, statIfThere, syncFolder } from './files.ts';
import type { Logger } from './logger.ts';
import type { Place } from './place.ts';
import { isAlive } from './processes.ts';

export const SUPERUSER = 'coffer';

const INITDB_LIMIT_MS = 120_000;
/** Drafts of this process. */
const draftsInWork = new Set<string>();

export interface ClusterOptions {
  readonly account: Account | undefined;
  readonly binaries: Binaries;
  /** False for databases that nobody would miss after a power cut. */
  readonly durable: boolean;
  readonly logger: Logger;
}

/** Does nothing if the cluster exists. Two callers at once end up with one cluster. */
export async function ensureCluster(place: Place, options: ClusterOptions): Promise<void> {
  if (await statIfThere(place.dataFolder)) return;

  const parent = dirname(place.clusterFolder);
  await removeAbandonedDrafts(place);
  const draft = join(parent, `${draftPrefix(place)}${process.pid}-${randomBytes(4).toString('hex')}`);
  draftsInWork.add(draft);
  try {
    await initialize(draft, options);
    await rename(draft, place.clusterFolder);
    await syncFolder(parent);
    options.logger.info({ clusterFolder: place.clusterFolder }, 'made a new Postgres cluster');
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another service was faster, and its cluster is whole.
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST')) throw error;
  } finally {
    draftsInWork.delete(draft);
  }
}

/**
 * The folder stays the service's and holds what the server's account must not rewrite (password, log); the folders
 * `data` and `socket` belong to the account.
 */
async function initialize(folder: string, { account, binaries, durable }: ClusterOptions): Promise<void> {
  const passwordFile = join(folder, 'password');
  const data = join(folder, 'data');
  await mkdir(folder, { mode: account ? 0o711 : 0o700 });
  for (const made of [data, join(folder, 'socket')]) {
    await mkdir(made, { mode: 0o700 });
    if (account) await chown(made, account.uid, account.gid);
  }
  const password = await open(passwordFile, 'wx', 0o600);
  try {
    await password.writeFile(`${randomBytes(32).toString('hex')}\n`);
    // Handed over while initdb reads it.
    if (account) await password.chown(account.uid, account.gid);
    await runInitdb(binaries.initdb, data, passwordFile, durable, account);
    if (account) await password.chown(0, 0);
    await password.sync();
  } finally {
    await password.close();
  }
  if (durable) await syncFolder(folder);
}

/**
 * The log of a cluster grows by files of this size, each filled with zeros and synced when it is first needed, while every
 * commit waits: with the default of 16 MB several times as long. Why not smaller: ADR 0054.
 */
const LOG_FILE_MB = 4;

async function runInitdb(
  initdb: string,
  data: string,
  passwordFile: string,
  durable: boolean,
  account: Account | undefined,
): Promise<void> {
  const args = [
    ...['--pgdata', data, '--username', SUPERUSER, '--pwfile', passwordFile],
    ...['--auth', 'scram-sha-256', '--encoding', 'UTF8', '--locale', 'C', '--no-instructions'],
    ...['--wal-segsize', String(LOG_FILE_MB)],
    ...(durable ? [] : ['--no-sync']),
  ];
  try {
    await run(initdb, args, account);
  } catch (cause) {
    const output = cause instanceof Error ? cause.message : String(cause);
    throw new EmbeddedPostgresError(`initdb could not make a cluster: ${output}`, { cause });
  }
}

/** Rejects with its output if it failed. */
async function run(program: string, args: readonly string[], account: Account | undefined): Promise<void> {
  const child = spawn(program, args, {
    ...account,
    // It must be a folder that the account can enter.
    cwd: '/',
    env: { LC_ALL: 'C' },
    // Its own session: Ctrl-C in a terminal reaches the service, which ends once the cluster is whole.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: INITDB_LIMIT_MS,
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const [code, signal] = await once(child, 'close');
  if (code !== 0) throw new Error(said.trim() || `it ended with ${signal ?? code}`);
}

function draftPrefix(place: Place): string {
  return `.${basename(place.clusterFolder)}.draft-`;
}

async function removeAbandonedDrafts(place: Place): Promise<void> {
  const parent = dirname(place.clusterFolder);
  for (const name of await readdir(parent)) {
    if (!name.startsWith(draftPrefix(place))) continue;
    const pid = Number.parseInt(name.slice(draftPrefix(place).length), 10);
    const draft = join(parent, name);
    // In a container, the service that died had the same pid as this one.
    const isInWork = pid === process.pid ? draftsInWork.has(draft) : isAlive(pid);
    if (!isInWork) await rm(draft, { recursive: true, force: true, maxRetries: 5 });
  }
}
