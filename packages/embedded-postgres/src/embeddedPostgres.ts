/** A real PostgreSQL in the data folder, owned by one service at a time. */
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { accountForCluster, unprivilegedAccount } from './account.ts';
import { findBinaries, programsIn } from './binaries.ts';
import { type ClusterOptions, ensureCluster, SUPERUSER } from './cluster.ts';
import { EmbeddedPostgresError } from './errors.ts';
import { hasCode } from './files.ts';
import { type Logger, silentLogger } from './logger.ts';
import { acquireDataFolder, type Ownership, requireUnowned } from './ownership.ts';
import { findPlace, type Place, presentPlace, rememberInitialized } from './place.ts';
import {
  ensurePostmaster,
  findPostmaster,
  isConfiguredAs,
  isPostmasterOf,
  type Postmaster,
  stopPostmaster,
} from './postmaster.ts';

export interface EmbeddedPostgresOptions {
  /** The data folder; created if missing. */
  readonly folder: string;
  /** Created if missing. */
  readonly databases: readonly string[];
  readonly logger?: Logger;
  /** Default: true. What is committed survives a power cut. */
  readonly durable?: boolean;
  /** The folder with the programs (`initdb`, `postgres`) of a PostgreSQL other than the package's. */
  readonly programs?: string | undefined;
  /** The folder is no longer ours, or its server is gone: stop working on it. Never called after `stop`. */
  readonly onLost?: (error: Error) => void;
}

export interface EmbeddedPostgres {
  /** For one of the databases, as the cluster's superuser. */
  connectionString(database: string): string;
  /** The same by way of the server's Unix socket, which takes less of the processor; by loopback if it has none. ADR 0078. */
  socketConnectionString(database: string): string;
  /** For the database `postgres`. */
  readonly adminConnectionString: string;
  readonly postmasterPid: number;
  /** Holds all its data: in the data folder, or elsewhere if its user cannot enter that. */
  readonly clusterFolder: string;
  /** Fast shutdown: open connections are ended, what is committed is kept. Resolves once no process is left. */
  stop(): Promise<void>;
}

/**
 * Starts the server of the data folder, or takes over the one that a killed service left running, and owns the folder
 * until `stop`. Throws `DataFolderInUseError` if another service owns it, whose server keeps running.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { folder, logger = silentLogger, durable = true } = options;
  if (process.platform === 'win32') {
    throw new EmbeddedPostgresError('The embedded Postgres needs Linux or macOS. Set DATABASE_URL instead.');
  }
  const unprivileged = await unprivilegedAccount();
  const place = await findPlace(folder, unprivileged, logger);
  const account = await accountForCluster(place.dataFolder, unprivileged);
  const cluster: ClusterOptions = {
    account,
    binaries:
      options.programs === undefined ? await findBinaries(account, logger) : programsIn(options.programs),
    durable,
    logger,
  };
  await ensureCluster(place, cluster);
  await rememberInitialized(place);

  const password = await passwordOf(place);
  const { postmaster, ownership } = await startAndOwn(place, cluster, password, options);
  const connectionString = (database: string) => connectionStringOf(postmaster, password, database);
  const stop = async () => {
    // Stopped while the folder is still ours: if it were released first, the next owner could lose its server to us.
    await ownership.release(() => stopPostmaster(place, postmaster.pid));
    logger.info({ postmasterPid: postmaster.pid }, 'stopped Postgres');
  };
  try {
    await createMissingDatabases(connectionString('postgres'), options.databases);
  } catch (error) {
    await stop();
    throw error;
  }
  logger.info({ port: postmaster.port, postmasterPid: postmaster.pid }, 'Postgres is ready');
  return {
    connectionString,
    socketConnectionString: (database) => socketConnectionStringOf(postmaster, password, database),
    adminConnectionString: connectionString('postgres'),
    postmasterPid: postmaster.pid,
    clusterFolder: place.clusterFolder,
    stop,
  };
}

/** Connection strings for the server that runs in a data folder, whoever started it; undefined if none does. */
export async function findEmbeddedPostgres(
  folder: string,
): Promise<EmbeddedPostgres['connectionString'] | undefined> {
  const place = await presentPlace(folder);
  const postmaster = place && (await findPostmaster(place));
  if (!place || !postmaster) return undefined;
  const password = await passwordOf(place);
  return (database) => connectionStringOf(postmaster, password, database);
}

/** Where the database of a data folder is kept, running or not; undefined if there is none. */
export const embeddedPostgresFolder = async (folder: string): Promise<string | undefined> =>
  (await presentPlace(folder))?.clusterFolder;

/** Throws `DataFolderInUseError` if a service owns the folder at this moment. Makes and changes nothing. */
export async function requireUnownedDataFolder(folder: string): Promise<void> {
  const connectionString = await findEmbeddedPostgres(folder);
  if (!connectionString) return;
  await requireUnowned(folder, connectionString('postgres')).catch((error: unknown) => {
    if (!isNotReady(error)) throw error;
  });
}

const passwordOf = async ({ passwordFile }: Place) => (await readFile(passwordFile, 'utf8')).trim();

/** A server that another service is stopping, or that recovers from a crash, answers this way for a while. */
const CONNECT_LIMIT_MS = 60_000;
const CONNECT_RETRY_DELAY_MS = 100;

async function startAndOwn(
  place: Place,
  cluster: ClusterOptions,
  password: string,
  options: EmbeddedPostgresOptions,
): Promise<{ postmaster: Postmaster; ownership: Ownership }> {
  const { logger } = cluster;
  const deadline = performance.now() + CONNECT_LIMIT_MS;
  let isRestarted = false;
  for (;;) {
    const postmaster = await ensurePostmaster(place, cluster);
    try {
      const ownership = await acquireDataFolder({
        folder: options.folder,
        adminConnectionString: connectionStringOf(postmaster, password, 'postgres'),
        isServerRunning: () => isPostmasterOf(postmaster.pid, place),
        logger,
        onLost: options.onLost ?? ((error) => logger.warn({ err: error }, 'lost the data folder')),
      });
      // Left behind by a killed service: perhaps by one of another version, or with other settings.
      if (isRestarted || (await isConfiguredAs(cluster, place, postmaster))) return { postmaster, ownership };
      logger.info({ postmasterPid: postmaster.pid }, 'restarts a Postgres of another configuration');
      await ownership.release(() => stopPostmaster(place, postmaster.pid));
      isRestarted = true;
    } catch (error) {
      if (!isNotReady(error) || performance.now() > deadline) throw error;
      await delay(CONNECT_RETRY_DELAY_MS);
    }
  }
}

/** The server is starting up, recovering or shutting down: nothing is wrong with it. */
function isNotReady(error: unknown): boolean {
  return hasCode(error, 'ECONNREFUSED', 'ECONNRESET', CANNOT_CONNECT_NOW, ADMIN_SHUTDOWN);
}

const CANNOT_CONNECT_NOW = '57P03';
const ADMIN_SHUTDOWN = '57P01';

function connectionStringOf({ port }: Postmaster, password: string, database: string): string {
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${encodeURIComponent(database)}`;
}

function socketConnectionStringOf(postmaster: Postmaster, password: string, database: string): string {
  const { socketFolder } = postmaster;
  const byLoopback = connectionStringOf(postmaster, password, database);
  return socketFolder === undefined ? byLoopback : `${byLoopback}?host=${encodeURIComponent(socketFolder)}`;
}

async function createMissingDatabases(
  adminConnectionString: string,
  databases: readonly string[],
): Promise<void> {
  const client = new pg.Client({ connectionString: adminConnectionString });
  await client.connect();
  try {
    const { rows } = await client.query<{ datname: string }>('select datname from pg_database');
    const present = new Set(rows.map((row) => row.datname));
    for (const database of databases) {
      if (!present.has(database)) await client.query(`create database ${client.escapeIdentifier(database)}`);
    }
  } finally {
    await client.end();
  }
}
