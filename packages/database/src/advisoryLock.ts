import type { Pool } from './pool.ts';

/** The connection that held the lock is gone, and the lock with it. */
export class LockLostError extends Error {
  override readonly name = 'LockLostError';
  /** PostgreSQL's own code for a failed connection: https://www.postgresql.org/docs/18/errcodes-appendix.html */
  readonly code = '08006';
}

/**
 * Runs the work while this process alone holds the lock; undefined when another holds it. The lock lives as long as its
 * connection, so it dies with the process; if the connection is lost first, the signal aborts.
 */
export async function withAdvisoryLock<Result>(
  pool: Pool,
  lock: number,
  work: (lost: AbortSignal) => Promise<Result>,
  /** Several may hold a shared one at once. */
  mode: 'exclusive' | 'shared' = 'exclusive',
): Promise<{ readonly result: Result } | undefined> {
  const suffix = mode === 'shared' ? '_shared' : '';
  const client = await pool.connect();
  const lost = new AbortController();
  let failure: Error | undefined;
  const noteLoss = (error: Error) => {
    failure = error;
    lost.abort(new LockLostError('The connection that held the lock was lost.', { cause: error }));
  };
  client.on('error', noteLoss);
  try {
    // Unanswered, it may be taken all the same: then it goes with the connection.
    const { rows } = await client
      .query(`select pg_try_advisory_lock${suffix}($1) as taken`, [lock])
      .catch((error: Error) => {
        failure = error;
        throw error;
      });
    if (!rows[0]?.taken) return undefined;
    try {
      return { result: await work(lost.signal) };
    } finally {
      // A connection that fails to unlock is not returned to the pool.
      await client.query(`select pg_advisory_unlock${suffix}($1)`, [lock]).catch(noteLoss);
    }
  } finally {
    if (!failure) client.off('error', noteLoss);
    client.release(failure);
  }
}
