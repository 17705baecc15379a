/**
 * One service per data folder: the owner holds a session-level advisory lock on a separate connection. The lock dies
 * with its holder, so a killed owner leaves nothing to clean up.
 */
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { DataFolderInUseError, EmbeddedPostgresError } from './errors.ts';
import type { Logger } from './logger.ts';

/** Any constant, used in the database `postgres`: every service of a cluster must try the same lock. */
const OWNER_LOCK = 7_263_002;

/** A killed owner's connection takes a moment to end in the server. */
const CLAIM_LIMIT_MS = 2_000;
/** After a crash of one backend Postgres restarts all of them, and is back within a moment. */
const RECLAIM_LIMIT_MS = 15_000;
const RETRY_DELAY_MS = 50;

export interface OwnershipOptions {
  /** For messages. */
  readonly folder: string;
  /** For the database `postgres`. */
  readonly adminConnectionString: string;
  /** Called if the connection is lost: nobody waits for a server that is gone. */
  readonly isServerRunning: () => Promise<boolean>;
  readonly logger: Logger;
  /** The folder is no longer ours, or its server is gone: whoever is told must stop working on it. */
  readonly onLost: (error: Error) => void;
}

export interface Ownership {
  /** Does the `last` thing as the owner, then lets go. From here on a lost connection is expected. */
  release(last: () => Promise<void>): Promise<void>;
}

/** Throws `DataFolderInUseError` if another process owns the folder. */
export async function acquireDataFolder(options: OwnershipOptions): Promise<Ownership> {
  let released = false;
  let client = await claim(options, performance.now() + CLAIM_LIMIT_MS, onConnectionLost);

  function onConnectionLost(): void {
    if (released) return;
    reclaim().catch((error: Error) => {
      if (!released) options.onLost(error);
    });
  }

  async function reclaim(): Promise<void> {
    options.logger.warn({ folder: options.folder }, 'lost the connection that owns the data folder');
    const deadline = performance.now() + RECLAIM_LIMIT_MS;
    while (!released) {
      try {
        client = await claim(options, performance.now() + CLAIM_LIMIT_MS, onConnectionLost);
        break;
      } catch (error) {
        if (error instanceof DataFolderInUseError || performance.now() > deadline) throw error;
        if (!(await options.isServerRunning())) {
          throw new EmbeddedPostgresError(`The Postgres server of ${options.folder} has died.`, {
            cause: error,
          });
        }
        await delay(RETRY_DELAY_MS, undefined, { ref: false });
      }
    }
    if (released) return client.end();
    options.logger.info({ folder: options.folder }, 'owns the data folder again');
  }

  return {
    async release(last) {
      released = true;
      try {
        await last();
      } finally {
        await client.end();
      }
    },
  };
}

/** Throws `DataFolderInUseError` if another process owns the folder and does not leave it within a moment. */
export async function requireUnowned(folder: string, adminConnectionString: string): Promise<void> {
  const client = await claim(
    { folder, adminConnectionString },
    performance.now() + CLAIM_LIMIT_MS,
    () => undefined,
  );
  await client.end();
}

async function claim(
  { folder, adminConnectionString }: Pick<OwnershipOptions, 'folder' | 'adminConnectionString'>,
  deadline: number,
  onConnectionLost: () => void,
): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: adminConnectionString,
    application_name: `coffer owner, pid ${process.pid} on ${hostname()}`,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  });
  let isOwner = false;
  // Without a listener an error on an idle connection would end the process; `end` follows every error.
  client.on('error', () => {});
  client.on('end', () => {
    if (isOwner) onConnectionLost();
  });
  try {
    await client.connect();
    while (!(await tryLock(client))) {
      if (performance.now() > deadline) throw new DataFolderInUseError(folder, await nameOfOwner(client));
      await delay(RETRY_DELAY_MS);
    }
    isOwner = true;
    return client;
  } catch (error) {
    await client.end();
    throw error;
  }
}

async function tryLock(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
    OWNER_LOCK,
  ]);
  return rows[0]?.locked === true;
}

async function nameOfOwner(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ owner: string }>(
    `select application_name as owner
     from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and objsubid = 1 and granted
       and (classid::bigint << 32 | objid::bigint) = $1`,
    [OWNER_LOCK],
  );
  return rows[0]?.owner ?? 'which has just gone; try again';
}
