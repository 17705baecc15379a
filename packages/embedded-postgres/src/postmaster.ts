/** One server process over one cluster: found, started, stopped. Who may use it is decided elsewhere. */
import { spawn } from 'node:child_process';
import { open, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ClusterOptions } from './cluster.ts';
import { EmbeddedPostgresError } from './errors.ts';
import { hasCode, readIfThere, statIfThere } from './files.ts';
import type { Place } from './place.ts';
import { commandLineOf, isAlive, signal } from './processes.ts';
import { ensureSocketFolder } from './socketFolder.ts';

export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  /** Undefined if it listens to the loopback address alone. */
  readonly socketFolder: string | undefined;
}

/** Crash recovery after a long run takes time, and so do the last processes of a killed server. */
const START_LIMIT_MS = 120_000;
const FAST_STOP_LIMIT_MS = 8_000;
const IMMEDIATE_STOP_LIMIT_MS = 10_000;
const POLL_DELAY_MS = 25;
const LARGEST_LOG_BYTES = 10 * 1024 * 1024;

/**
 * The server of this cluster, ready for connections: one already running (another service's, or one whose service was
 * killed), or a new one.
 */
export async function ensurePostmaster(place: Place, options: ClusterOptions): Promise<Postmaster> {
  const deadline = performance.now() + START_LIMIT_MS;
  let preferredPort = await rememberedPort(place);
  while (performance.now() < deadline) {
    const found = await readPidFile(place);
    if (found && (await isPostmasterOf(found.pid, place))) {
      if (found.ready) return found;
      await delay(POLL_DELAY_MS);
      continue;
    }
    const outcome = await startOnce(place, options, preferredPort, found?.pid, deadline);
    if (outcome.kind === 'ready') return outcome.postmaster;
    if (outcome.kind === 'portTaken') preferredPort = undefined;
    await delay(POLL_DELAY_MS * 4);
  }
  throw new EmbeddedPostgresError(
    `Postgres was not ready within ${START_LIMIT_MS / 1000} s. ${place.logFile} ends with:\n` +
      (await endOfLog(place, 0)),
  );
}

/** Undefined if no server runs over this cluster. */
export async function findPostmaster(place: Place): Promise<Postmaster | undefined> {
  const found = await readPidFile(place);
  return found && (await isPostmasterOf(found.pid, place)) ? found : undefined;
}

/** Whether a server that was found runs with the programs and settings that this code would use. */
export async function isConfiguredAs(
  { account, binaries, durable }: ClusterOptions,
  place: Place,
  { pid, port }: Postmaster,
): Promise<boolean> {
  const args = settings(place, port, await ensureSocketFolder(place.clusterFolder, account), durable);
  return (await commandLineOf(pid)) === [binaries.postgres, ...args].join(' ').trim();
}

/** Whether this process is a server over this very cluster, and not by now another program. */
export async function isPostmasterOf(pid: number, place: Place): Promise<boolean> {
  return (await commandLineOf(pid)).includes(` -D ${place.dataFolder} `);
}

/** Fast shutdown, then immediate. Resolves once the server's process is gone. */
export async function stopPostmaster(place: Place, pid: number): Promise<void> {
  for (const [name, limitMs] of [
    ['SIGINT', FAST_STOP_LIMIT_MS],
    ['SIGQUIT', IMMEDIATE_STOP_LIMIT_MS],
  ] as const) {
    if (!(await isPostmasterOf(pid, place)) || !signal(pid, name)) return;
    const deadline = performance.now() + limitMs;
    while (performance.now() < deadline) {
      await delay(POLL_DELAY_MS);
      if (!(await isPostmasterOf(pid, place))) return;
    }
  }
  throw new EmbeddedPostgresError(`The Postgres server with pid ${pid} does not stop.`);
}

type StartOutcome =
  | { readonly kind: 'ready'; readonly postmaster: Postmaster }
  | { readonly kind: 'portTaken' }
  /** Another server is already there, or the last processes of a killed one still are. */
  | { readonly kind: 'tryAgain' };

async function startOnce(
  place: Place,
  options: ClusterOptions,
  preferredPort: number | undefined,
  stalePid: number | undefined,
  deadline: number,
): Promise<StartOutcome> {
  const { account, binaries } = options;
  const port = (preferredPort && (await isFree(preferredPort))) || (await freePort());
  const socketFolder = await ensureSocketFolder(place.clusterFolder, account);
  const log = await open(place.logFile, (await logIsLarge(place)) ? 'w' : 'a', 0o600);
  const logStart = (await log.stat()).size;
  let exited = false;
  let failure: Error | undefined;
  try {
    // Its own session: Ctrl-C in a terminal reaches the service, and the service stops the server.
    const child = spawn(binaries.postgres, settings(place, port, socketFolder, options.durable), {
      ...account,
      cwd: '/',
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      env: { LC_ALL: 'C', ...ignoringStalePid(stalePid) },
    });
    child.on('error', (error) => {
      failure = error;
    });
    child.on('exit', () => {
      exited = true;
    });
    child.unref();
    while (!exited && !failure && performance.now() < deadline) {
      const found = await readPidFile(place);
      if (found?.ready && found.pid === child.pid) return { kind: 'ready', postmaster: found };
      await delay(POLL_DELAY_MS);
    }
    if (!exited && child.pid !== undefined) await stopPostmaster(place, child.pid);
  } finally {
    await log.close();
  }
  if (failure) {
    throw new EmbeddedPostgresError(`Postgres cannot be run: ${failure.message}`, { cause: failure });
  }
  const output = await endOfLog(place, logStart);
  if (/could not bind .*: Address already in use/.test(output)) return { kind: 'portTaken' };
  if (/lock file "[^"]+" already exists|shared memory block .* is still in use/.test(output)) {
    return { kind: 'tryAgain' };
  }
  throw new EmbeddedPostgresError(`Postgres did not start. ${place.logFile} says:\n${output}`);
}

function settings(
  place: Place,
  port: number,
  socketFolder: string | undefined,
  durable: boolean,
): readonly string[] {
  const values: Readonly<Record<string, string | number>> = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: socketFolder ?? '',
    unix_socket_permissions: '0700',
    max_connections: 200,
    shared_buffers: '128MB',
    max_wal_size: '1GB',
    // Files of the log that were needed once are kept for the next busy hour: a new one holds up every commit.
    min_wal_size: '256MB',
    // Pages are written before an append needs their room, and a few at a time: ADR 0071.
    bgwriter_delay: '100ms',
    bgwriter_lru_maxpages: 1_000,
    // Before the kernel writes all of half a minute at once, while commits wait for the same disk: ADR 0084.
    checkpoint_timeout: '30s',
    checkpoint_completion_target: 0.1,
    log_checkpoints: 'off',
    // What was inserted is vacuumed while it is still in memory, and unhurriedly: ADR 0088.
    autovacuum_naptime: '15s',
    autovacuum_vacuum_cost_delay: '5ms',
    fsync: durable ? 'on' : 'off',
    full_page_writes: durable ? 'on' : 'off',
    synchronous_commit: durable ? 'on' : 'off',
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    logging_collector: 'off',
    log_line_prefix: '%m [%p] %q%d ',
  };
  return [
    '-D',
    place.dataFolder,
    ...Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
}

/**
 * If the pid of a dead server now belongs to another program, Postgres would refuse to start. This variable (pg_ctl's
 * own) names a pid that it does not take for a server; deleting the lock file instead would also lose the check that no
 * process of the dead server still writes.
 */
function ignoringStalePid(stalePid: number | undefined): Record<string, string> {
  return stalePid !== undefined && isAlive(stalePid) ? { PG_GRANDPARENT_PID: String(stalePid) } : {};
}

/** Lines of postmaster.pid: pid, data folder, start time, port, socket folder, address, memory key, state. */
async function readPidFile(place: Place): Promise<(Postmaster & { readonly ready: boolean }) | undefined> {
  const lines = (await readIfThere(join(place.dataFolder, 'postmaster.pid')))?.split('\n');
  const pid = Number(lines?.[0]);
  if (!lines || !Number.isInteger(pid) || pid <= 0) return undefined;
  const [port, socketFolder] = [Number(lines[3]), lines[4] || undefined];
  return { pid, port, socketFolder, ready: lines[7]?.trim() === 'ready' };
}

/** The port of the last run, so that an operator's tools keep working. */
async function rememberedPort(place: Place): Promise<number | undefined> {
  const text = await readIfThere(join(place.dataFolder, 'postmaster.opts'));
  const port = Number(/"port=(\d+)"/.exec(text ?? '')?.[1]);
  return port > 0 ? port : undefined;
}

async function isFree(port: number): Promise<number | undefined> {
  return listenOn(port).catch((error: unknown) => {
    if (hasCode(error, 'EADDRINUSE', 'EACCES')) return undefined;
    throw error;
  });
}

function freePort(): Promise<number> {
  return listenOn(0);
}

function listenOn(port: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const server = createServer();
  server.on('error', reject);
  server.listen(port, '127.0.0.1', () => {
    const address = server.address();
    server.close(() => resolve(typeof address === 'object' && address ? address.port : port));
  });
  return promise;
}

async function logIsLarge(place: Place): Promise<boolean> {
  return ((await statIfThere(place.logFile))?.size ?? 0) > LARGEST_LOG_BYTES;
}

async function endOfLog(place: Place, start: number): Promise<string> {
  const { size } = await stat(place.logFile);
  const from = Math.max(start, size - 4_000);
  const file = await open(place.logFile, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
    return buffer.subarray(0, bytesRead).toString('utf8').trim();
  } finally {
    await file.close();
  }
}
