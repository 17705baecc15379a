/** Tells the process that reconciles, whichever it is, that somebody waits: the API and the schedule have threads of their own. */
import type { Pool, Queryable } from '@coffer/database';
import { underLock } from './underLock.ts';

/** An arbitrary constant. Held, shared, by each run that somebody waits for. */
const AWAITED_LOCK = 7_263_013;

/** Does the work of such a run, or waits for its turn. Throws the signal's reason. */
export const whileAwaited = <Result>(pool: Pool, signal: AbortSignal, work: () => Promise<Result>) =>
  underLock(pool, AWAITED_LOCK, signal, work, 'shared');

export async function isAnyAwaited(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ taken: boolean }>('select pg_try_advisory_xact_lock($1) as taken', [
    AWAITED_LOCK,
  ]);
  return rows[0]?.taken === false;
}
