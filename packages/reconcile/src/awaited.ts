/** Tells the process that reconciles, whichever it is, that somebody waits: the API and the schedule have threads of their own. */
import { type Pool, type Queryable, withConnection } from '@coffer/database';

/** An arbitrary constant. Held, shared, by each run that somebody waits for. */
const AWAITED_LOCK = 7_263_013;

/** Does the work of such a run, or waits for its turn. */
export function whileAwaited<Result>(pool: Pool, work: () => Promise<Result>): Promise<Result> {
  return withConnection(pool, async (client) => {
    await client.query('select pg_advisory_lock_shared($1)', [AWAITED_LOCK]);
    try {
      return await work();
    } finally {
      await client.query('select pg_advisory_unlock_shared($1)', [AWAITED_LOCK]);
    }
  });
}

export async function isAnyAwaited(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ taken: boolean }>('select pg_try_advisory_xact_lock($1) as taken', [
    AWAITED_LOCK,
  ]);
  return rows[0]?.taken === false;
}
