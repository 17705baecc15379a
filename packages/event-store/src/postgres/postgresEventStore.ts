/** The event store on Postgres: the embedded default, and what one machine can hold. ADR 0003. */
import { join } from 'node:path';
import { createPool, type Migrations, migrate, type Pool } from '@coffer/database';
import { comparePositions, distance, parsePosition } from '../decimalPosition.ts';
import type { EventStore } from '../port.ts';
import { type QueueLimits, queueLimits } from '../queueLimits.ts';
import { createAppender } from './appender.ts';
import { createPoolEnd } from './ending.ts';
import { createLogReader } from './logReader.ts';
import { sharePages } from './sharedPages.ts';
import { subscription } from './subscription.ts';
import { createWakeups } from './wakeups.ts';

export interface PostgresEventStoreOptions extends QueueLimits {
  readonly connectionString: string;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  /** Connections for reads. Default 8. */
  readonly readConnections?: number;
}

/**
 * A prepared read keeps the plan made while the table was small, when a full scan is cheapest, until the table is
 * analyzed again; by then it may be large. Every read of the log has an index in its order, so that a plan for any values
 * serves all: ADR 0077. Times are formatted as `rows.ts` parses them.
 */
const READ_SETTINGS =
  '-c enable_seqscan=off -c enable_bitmapscan=off -c plan_cache_mode=force_generic_plan -c timezone=UTC -c datestyle=ISO';

export const logMigrations: Migrations = { schema: 'log', folder: join(import.meta.dirname, 'migrations') };

/** Creates or updates the schema `log`. */
export const migrateLog = (pool: Pool): Promise<void> => migrate(pool, [logMigrations]);

/** Connects on first use. The schema `log` must exist (`migrateLog`). */
export function createPostgresEventStore(options: PostgresEventStoreOptions): EventStore {
  const { connectionString, applicationName } = options;
  const pool = createPool({
    connectionString,
    applicationName: `${applicationName}-read`,
    maxConnections: options.readConnections ?? 8,
    settings: READ_SETTINGS,
    // The next read opens a new connection and fails if it cannot.
    onIdleError: () => undefined,
  });
  const endPool = createPoolEnd(pool);
  const reader = createLogReader(pool);
  const pageFrom = sharePages(reader.pageFrom);
  const wakeups = createWakeups({ connectionString, applicationName });
  const { maxQueuedAppends, maxQueuedBytes } = queueLimits(options);
  const appender = createAppender({
    connectionString,
    applicationName: `${applicationName}-append`,
    maxQueuedEntries: maxQueuedAppends,
    maxQueuedBytes,
    onAppended: wakeups.wake,
    findAppended: reader.findAppended,
  });

  const closing = new AbortController();

  return {
    append: appender.append,
    heads: reader.heads,
    readStream: reader.readStream,
    readTails: reader.readTails,
    readAll: reader.readAll,
    head: reader.head,
    subscribeToAll(subscribeOptions) {
      wakeups.listen();
      const signal = AbortSignal.any([subscribeOptions.signal, closing.signal]);
      return subscription(pageFrom, wakeups, { ...subscribeOptions, signal });
    },
    parsePosition,
    placeAt: reader.placeAt,
    comparePositions,
    distance,
    async close() {
      closing.abort();
      await Promise.all([appender.close(), wakeups.close()]);
      if (!pool.ending) await endPool();
    },
  };
}
