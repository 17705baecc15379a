/** One of our programs that starts others: however it ends, they end with it. */
import type { Run } from './children.ts';

/** Resolves with the exit code: the work's, or 2 if it could not be done. */
export async function underControl(
  name: string,
  limitMs: number,
  work: (run: Run) => Promise<number>,
): Promise<number> {
  const stopping = new AbortController();
  const stop = (why: string) => stopping.abort(new Error(why));
  const timer = setTimeout(stop, limitMs, `The run was not over after ${limitMs / 1_000} s.`);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => stop(`Stopped by ${signal}.`));
  }
  const stopped = new Promise<never>((_, reject) => {
    stopping.signal.addEventListener('abort', () => reject(stopping.signal.reason));
  });
  const stack = new AsyncDisposableStack();
  const progress = (line: string): void => {
    process.stderr.write(`${name}: ${line}\n`);
  };
  try {
    try {
      return await Promise.race([work({ stack, signal: stopping.signal, progress }), stopped]);
    } finally {
      clearTimeout(timer);
      stopping.abort(new Error('The run is over.'));
      await stack.disposeAsync();
    }
  } catch (error) {
    const isStop = error === stopping.signal.reason;
    progress(error instanceof Error ? (!isStop && error.stack) || error.message : String(error));
    return 2;
  }
}
