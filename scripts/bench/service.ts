/** The service under test: the program that `npm start` runs, with its own data folder. */
import { chmod, mkdir, mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { withPool } from '@coffer/database';
import { removeDataFolder, startEmbeddedPostgres } from '@coffer/embedded-postgres';
import {
  type BootstrapContent,
  bootstrapFilePath,
  type OperatorFile,
  readBootstrapFile,
  readOperatorFile,
} from '@coffer/portal';
import { freePortPair, startScript } from '@coffer/testing';
import { SUPERUSER } from '../../packages/embedded-postgres/src/cluster.ts';
import { silentLogger } from '../../packages/embedded-postgres/src/logger.ts';
import { findPlace } from '../../packages/embedded-postgres/src/place.ts';
import { type Child, pidOf, type Run, spawnNode, stopChild } from './children.ts';

const DATABASE = 'coffer';
const START_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 20_000;
const POLL_DELAY_MS = 50;

export interface ServiceUnderTest {
  readonly port: number;
  /** `http://host:port` */
  readonly origin: string;
  readonly boot: BootstrapContent;
  readonly operator: OperatorFile;
  /** The address of the service's database. */
  readonly databaseUrl: string;
  readonly dataFolder: string;
  /** The address of the embedded chain's RPC. */
  readonly chainUrl: string;
  readonly child: Child;
  readonly pid: number;
  /** Waits for the process to end, because then the CPU profile is written. */
  stop(): Promise<void>;
}

export interface ServiceOptions {
  /** The checkout whose service is started; this one unless given. */
  readonly root?: string;
  /** The file that receives a CPU profile of the whole run. */
  readonly profile?: { readonly folder: string; readonly name: string } | undefined;
  /** All of them unless given. */
  readonly roles?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** A file for its log. */
  readonly stdout?: number;
}

export async function startService(
  run: Run,
  { root, profile, roles = [], environment, stdout }: ServiceOptions,
): Promise<ServiceUnderTest> {
  const dataFolder = await temporaryFolder(run);
  const { flags, program } = startScript(root);
  const chainPort = await freePortPair();
  const child = spawnNode(run, [program, 'run', ...roles], {
    name: 'The service',
    env: {
      ...cleanEnvironment(),
      COFFER_DATA_DIR: dataFolder,
      PORT: '0',
      HOST: '127.0.0.1',
      COFFER_CHAIN_PORT: String(chainPort),
      LOG_LEVEL: 'warn',
      // Here all players come from one address.
      COFFER_SIGN_IN_IP_RATE_PER_MINUTE: '100000000',
      COFFER_SIGN_IN_KEY_RATE_PER_MINUTE: '100000000',
      ...environment,
    },
    stopLimitMs: STOP_LIMIT_MS,
    stdout,
    execArgv: profile
      ? [...flags, '--cpu-prof', '--cpu-prof-dir', profile.folder, '--cpu-prof-name', profile.name]
      : flags,
  });
  const { boot, operator } = await Promise.race([child.ended, filesOf(dataFolder, run.signal)]);
  const { origin, port } = new URL(operator.url);
  await Promise.race([child.ended, ready(origin, run.signal)]);
  const databaseUrl = await databaseUrlOf(dataFolder);
  await fillLogFiles(databaseUrl);
  return {
    port: Number(port),
    origin,
    boot,
    operator,
    databaseUrl,
    dataFolder,
    chainUrl: `http://127.0.0.1:${chainPort}`,
    child,
    pid: pidOf(child),
    stop: () => stopChild(child.process, STOP_LIMIT_MS),
  };
}

/** A folder that is removed with the run; if its service was killed, the server in it is stopped first. */
export async function temporaryFolder(run: Run): Promise<string> {
  run.signal.throwIfAborted();
  const folder = await mkdtemp(join(tmpdir(), 'coffer-bench-'));
  run.stack.defer(async () => {
    if (await hasPostmaster(folder)) await (await startEmbeddedPostgres({ folder, databases: [] })).stop();
    await removeDataFolder(folder);
  });
  // If we are root, Postgres runs as another user, who must be able to pass through.
  await chmod(folder, 0o711);
  return folder;
}

async function hasPostmaster(folder: string): Promise<boolean> {
  return (await postmasterLines(folder)) !== undefined;
}

async function postmasterLines(folder: string): Promise<readonly string[] | undefined> {
  const place = await findPlace(folder, undefined, silentLogger);
  const text = await readFile(join(place.dataFolder, 'postmaster.pid'), 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  });
  return text?.split('\n');
}

/** The service does not publish its database's address, so it is read where Postgres writes it. */
async function databaseUrlOf(folder: string): Promise<string> {
  const lines = await postmasterLines(folder);
  const port = lines?.[3];
  if (!port) throw new Error('The service runs without an embedded Postgres.');
  const place = await findPlace(folder, undefined, silentLogger);
  const password = (await readFile(place.passwordFile, 'utf8')).trim();
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${DATABASE}`;
}

/**
 * Writes half of what the write-ahead log may take: more than single bets fill between two checkpoints. A new file of it holds up all
 * commits and a used one none (ADR 0054), and a service that has been busy for some minutes has used ones alone.
 */
async function fillLogFiles(databaseUrl: string): Promise<void> {
  await withPool(databaseUrl, async (pool) => {
    await pool.query(`
      select count(pg_logical_emit_message(false, 'bench', repeat('x', 1024 * 1024)))
      from pg_settings, generate_series(1, setting::integer / 2)
      where name = 'max_wal_size'`);
    // Makes files that are full ready to be used again.
    await pool.query('checkpoint');
  });
}

/** Settings of another service must not reach this one. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) =>
      !name.startsWith('COFFER_') && !['DATABASE_URL', 'PORT', 'HOST', 'NODE_OPTIONS'].includes(name),
  );
  return Object.fromEntries(kept);
}

async function filesOf(dataFolder: string, signal: AbortSignal) {
  return untilDefined('its bootstrap and operator files', signal, async () => {
    const boot = await readBootstrapFile(bootstrapFilePath(dataFolder));
    const operator = await readOperatorFile(dataFolder);
    return boot && operator ? { boot, operator } : undefined;
  });
}

function ready(origin: string, signal: AbortSignal): Promise<true> {
  return untilDefined('a 200 of /readyz', signal, async () => {
    const response = await fetch(`${origin}/readyz`, { signal }).catch(() => undefined);
    await response?.arrayBuffer();
    return response?.status === 200 ? true : undefined;
  });
}

async function untilDefined<Value>(
  what: string,
  signal: AbortSignal,
  look: () => Promise<Value | undefined>,
): Promise<Value> {
  const deadlineMs = performance.now() + START_LIMIT_MS;
  while (performance.now() < deadlineMs) {
    const value = await look();
    if (value !== undefined) return value;
    await delay(POLL_DELAY_MS, undefined, { signal });
  }
  throw new Error(`The service did not give ${what} within ${START_LIMIT_MS} ms.`);
}

/** Created if missing; profiles are kept after the run. */
export async function profileFolder(path: string): Promise<string> {
  await mkdir(path, { recursive: true });
  return path;
}
