/** Databases with a log in them, for specs. */
import type { Pool } from '@coffer/database';
import type { TestDatabaseTemplate } from '@coffer/testing';
import { migrateLog } from '../postgres/postgresEventStore.ts';

export const logTemplate: TestDatabaseTemplate = { name: 'log', prepare: migrateLog };

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
