/** One process at a time; the others wait. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Pool, withAdvisoryLock } from '@coffer/database';

const LOCK_POLL_MS = 100;

/** Throws the signal's reason. */
export async function underLock<Result>(
  pool: Pool,
  lock: number,
  signal: AbortSignal,
  work: () => Promise<Result>,
  mode?: 'exclusive' | 'shared',
): Promise<Result> {
  for (;;) {
    signal.throwIfAborted();
    const done = await withAdvisoryLock(pool, lock, work, mode);
    if (done) return done.result;
    // Another node has the lock.
    await delay(LOCK_POLL_MS, undefined, { signal });
  }
}
