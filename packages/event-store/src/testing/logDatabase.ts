/** Databases with a log in them, for specs. */
import { createPool, type Pool } from '@coffer/database';
import { migrateLog } from '../postgres/postgresEventStore.ts';

/** For `createTestDatabase`. */
export const logTemplate = {
  name: 'log',
  prepare: (connectionString: string) => withPool(connectionString, migrateLog),
};

export async function withPool<Result>(
  connectionString: string,
  use: (pool: Pool) => Promise<Result>,
): Promise<Result> {
  const pool = createPool({ connectionString, applicationName: 'spec', onIdleError: () => undefined });
  try {
    return await use(pool);
  } finally {
    await pool.end();
  }
}

/** Makes every append wait, as a slow one of another process would, until the work is done. */
export async function whileAppendsWait<Result>(pool: Pool, work: () => Promise<Result>): Promise<Result> {
  const holder = await pool.connect();
  try {
    await holder.query('begin');
    await holder.query('select pg_advisory_xact_lock(7263000)');
    return await work();
  } finally {
    await holder.query('rollback');
    holder.release();
  }
}

/** Process ids of the server's backends that wait with an append, once there are some. */
export async function waitingAppends(pool: Pool, isEnough: () => boolean = () => false): Promise<number[]> {
  for (;;) {
    const { rows } = await pool.query<{ pid: number }>(
      `select l.pid from pg_locks l join pg_database d on d.oid = l.database
       where l.locktype = 'advisory' and not l.granted and d.datname = current_database()`,
    );
    if (rows.length > 0 || isEnough()) return rows.map(({ pid }) => pid);
    await new Promise(setImmediate);
  }
}
