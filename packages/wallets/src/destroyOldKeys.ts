/** Destroys the keys that their users took, once they can no longer be handed out again. */
import type { Logger } from '@coffer/http';
import type { Exports } from './exports.ts';

const INTERVAL_MS = 60_000;
const MOST_AT_A_TIME = 100;

/** Returns what stops it, and waits for the destruction under way. */
export function destroyOldKeysRegularly(
  { destroyOldKeys }: Pick<Exports, 'destroyOldKeys'>,
  logger: Logger,
): () => Promise<void> {
  let underWay = Promise.resolve();
  // Also at once: nobody knows for how long nothing ran.
  destroyNow();
  const timer = setInterval(destroyNow, INTERVAL_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    return underWay;
  };

  function destroyNow() {
    underWay = destroyOldKeys(MOST_AT_A_TIME).then(
      (count) => {
        if (count > 0) logger.info({ count }, 'keys that their users took a day ago were destroyed');
      },
      (error: unknown) => logger.warn({ err: error }, 'keys that their users took were not destroyed'),
    );
  }
}
