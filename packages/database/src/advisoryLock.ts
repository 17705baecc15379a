import type { Pool } from './pool.ts';

/** Whoever held a lock on a connection that is gone holds it no longer. */
export class LockLostError extends Error {
  override readonly name = 'LockLostError';
  /** PostgreSQL's own for a connection that has failed: https://www.postgresql.org/docs/18/errcodes-appendix.html */
  readonly code = '08006';
}

/**
 * Runs the work while this process alone has the lock; undefined when another has it. The lock lives as long
 * as its connection, so it is gone with a process that dies; a process that outlives it is told by the signal.
 */
export async function withAdvisoryLock<Result>(
  pool: Pool,
  lock: number,
  work: (lost: AbortSignal) => Promise<Result>,
): Promise<{ readonly result: Result } | undefined> {
  const client = await pool.connect();
  const lost = new AbortController();
  let failure: Error | undefined;
  const noteLoss = (error: Error) => {
    failure = error;
    lost.abort(new LockLostError('The connection that held the lock was lost.', { cause: error }));
  };
  client.on('error', noteLoss);
  try {
    const { rows } = await client.query('select pg_try_advisory_lock($1) as taken', [lock]);
    if (!rows[0]?.taken) return undefined;
    try {
      return { result: await work(lost.signal) };
    } finally {
      // A connection that cannot let go of it is not given back to the pool.
      await client.query('select pg_advisory_unlock($1)', [lock]).catch(noteLoss);
    }
  } finally {
    if (!failure) client.off('error', noteLoss);
    client.release(failure);
  }
}
