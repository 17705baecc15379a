/** Finds out whether a spec file has left anything open that keeps Node alive: a server, a timer, a process. */
import { setImmediate as afterThisTurn } from 'node:timers/promises';

/** What was closed takes a moment to go away, longer on a busy machine. */
const LEAK_LIMIT_MS = 60_000;

/** Mocha's root hooks. A leak keeps a serial run from ending; the workers of a parallel run end in spite of it. */
export function leakHooks(limitMs = LEAK_LIMIT_MS) {
  return {
    async afterAll(this: Pick<Mocha.Context, 'test'>) {
      await afterThisTurn();
      // Mocha's timer for this hook, which its types leave out, would keep Node alive as well.
      (this.test as { readonly timer?: NodeJS.Timeout } | undefined)?.timer?.unref();
      if (await runsDry(limitMs)) return;
      const files = new Set(this.test?.parent?.suites.map(({ file }) => file));
      throw new Error(
        `${[...files].join(', ')} left open one of: ${process.getActiveResourcesInfo().join(', ')}`,
      );
    },
  };
}

/** Whether Node would end now or soon if it had no channel to its parent. */
async function runsDry(limitMs: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const onDry = () => setImmediate(resolve, true);
  const timer = setTimeout(resolve, limitMs, false).unref();
  process.channel?.unref();
  process.once('beforeExit', onDry);
  try {
    return await promise;
  } finally {
    process.off('beforeExit', onDry);
    process.channel?.ref();
    clearTimeout(timer);
  }
}
