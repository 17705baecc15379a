/** Deletes sessions of which nothing can come any more. */
import type { Logger } from '@coffer/http';
import type { Sessions } from './sessions/index.ts';

const INTERVAL_MS = 60_000;
const MOST_AT_A_TIME = 1_000;

/** Returns what stops it, and waits for the deletion under way. */
export function sweepSessions(sessions: Pick<Sessions, 'deleteOld'>, logger: Logger): () => Promise<void> {
  let underWay = Promise.resolve();
  const timer = setInterval(() => {
    underWay = sessions.deleteOld(MOST_AT_A_TIME).then(
      () => undefined,
      (error: unknown) => logger.warn({ err: error }, 'old sign-in sessions were not deleted'),
    );
  }, INTERVAL_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    return underWay;
  };
}
