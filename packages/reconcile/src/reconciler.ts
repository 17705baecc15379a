/** Runs within a process: one at a time, and shared by all who ask for the same books meanwhile. */
import { setTimeout as delay } from 'node:timers/promises';
import { isAnyAwaited, whileAwaited } from './awaited.ts';
import { createPace } from './pace.ts';
import { type ReconcileDependencies, type RunOptions, reconcile } from './reconcile.ts';
import { type BooksPlace, CoverageIncompleteError, type Mode, type Report } from './report.ts';

interface ReconcileRequest extends BooksPlace {
  readonly mode: Mode;
  /** How long this caller waits; the run continues without it. */
  readonly withinMs: number;
  /** Rather than be quick, the run leaves most of its time to others, unless another caller waits too. Default: false. */
  readonly isUnhurried?: boolean;
  readonly onProgress?: RunOptions['onProgress'];
}

export interface Reconciler {
  /** Throws `CoverageIncompleteError`. */
  readonly reconcile: (request: ReconcileRequest) => Promise<Report>;
  /** Ends the run that is under way. */
  readonly close: () => Promise<void>;
}

interface SharedRun {
  readonly report: Promise<Report>;
  readonly listeners: Set<NonNullable<RunOptions['onProgress']>>;
  isAwaited: boolean;
}

export function createReconciler(
  dependencies: ReconcileDependencies,
  paceOf: typeof createPace = createPace,
): Reconciler {
  const { pool } = dependencies;
  const closing = new AbortController();
  const runs = new Map<string, SharedRun>();
  let last: Promise<unknown> = Promise.resolve();

  return {
    async reconcile({ withinMs, isUnhurried = false, onProgress, ...books }) {
      const run = runOf(books);
      if (!isUnhurried) run.isAwaited = true;
      if (onProgress) run.listeners.add(onProgress);
      const waiting = new AbortController();
      try {
        return await Promise.race([run.report, tooLate(withinMs, waiting.signal)]);
      } finally {
        waiting.abort();
        if (onProgress) run.listeners.delete(onProgress);
      }
    },
    async close() {
      closing.abort(new CoverageIncompleteError('still_running', 'The service is stopping.'));
      await last;
    },
  };

  function runOf(books: BooksPlace & { readonly mode: Mode }): SharedRun {
    const key = `${books.appId} ${books.environment} ${books.mode}`;
    const running = runs.get(key);
    if (running) return running;
    const listeners: SharedRun['listeners'] = new Set();
    const onProgress: RunOptions['onProgress'] = (progress) => {
      for (const listener of listeners) listener(progress);
    };
    // One after the other: all of them move the same fold, so whoever waits for one waits for those before it.
    const isAwaited = async () =>
      [...runs.values()].some((each) => each.isAwaited) || (await isAnyAwaited(pool));
    const begin = () =>
      reconcile(dependencies, {
        ...books,
        signal: closing.signal,
        onProgress,
        pace: paceOf({ isAwaited }),
      });
    const report = last.then(() => (run.isAwaited ? whileAwaited(pool, closing.signal, begin) : begin()));
    const run: SharedRun = { report, listeners, isAwaited: false };
    runs.set(key, run);
    // Its outcome goes to whoever waits for it; the next one begins regardless.
    last = report.then(ignore, ignore).then(() => runs.delete(key));
    return run;
  }
}

const ignore = () => undefined;

async function tooLate(withinMs: number, signal: AbortSignal): Promise<never> {
  await delay(withinMs, undefined, { signal }).catch(() => new Promise<never>(ignore));
  throw new CoverageIncompleteError(
    'still_running',
    'The reconciliation takes longer than this request may. It goes on: ask again.',
  );
}
