/** Measures the event store in Postgres against the bare statements, in a separate process. */
import { join } from 'node:path';
import { startEmbeddedPostgres } from '@coffer/embedded-postgres';
import { askChild, forkChild, type Run } from './children.ts';
import type { BenchPlan } from './plan.ts';
import { cleanEnvironment, temporaryFolder } from './service.ts';

/** One figure per round, in turns: bare, store, bare, store. */
export interface StoreFigures {
  readonly bareInsertsPerSecond: readonly number[];
  readonly appendsPerSecond: readonly number[];
  readonly bareSelectedPerSecond: readonly number[];
  readonly replayedPerSecond: readonly number[];
}

export type StoreOutcome =
  | { readonly kind: 'figures'; readonly figures: StoreFigures }
  | { readonly kind: 'failure'; readonly message: string };

const DATABASE = 'coffer_bench';
const STOP_LIMIT_MS = 5_000;
const ANSWER_MARGIN_MS = 60_000;

export async function measureStore(run: Run, plan: BenchPlan): Promise<StoreFigures> {
  run.progress('measuring the event store');
  const stack = run.stack.use(new AsyncDisposableStack());
  const ownRun: Run = { ...run, stack };
  const folder = await temporaryFolder(ownRun);
  const starting = startEmbeddedPostgres({ folder, databases: [DATABASE] });
  // Also stops a server that is still starting when the run is stopped; a failed start is reported below.
  stack.defer(async () => (await starting.catch(() => undefined))?.stop());
  const postgres = await starting;
  const worker = forkChild(ownRun, join(import.meta.dirname, 'storeWorker.ts'), {
    name: 'The event store measurement',
    env: { ...cleanEnvironment(), DATABASE_URL: postgres.connectionString(DATABASE) },
    stopLimitMs: STOP_LIMIT_MS,
  });
  const limitMs = plan.storeRounds * plan.storeMeasuredMs * 4 + ANSWER_MARGIN_MS;
  // The worker is ours and sends nothing else.
  const outcome = (await askChild(worker, plan, limitMs)) as StoreOutcome;
  if (outcome.kind === 'failure') throw new Error(`The event store: ${outcome.message}`);
  const { figures } = outcome;
  run.progress(
    `appends ${figures.appendsPerSecond.map(Math.round)} of ${figures.bareInsertsPerSecond.map(Math.round)} a second`,
  );
  run.progress(
    `replay ${figures.replayedPerSecond.map(Math.round)} of ${figures.bareSelectedPerSecond.map(Math.round)} a second`,
  );
  await stack.disposeAsync();
  return figures;
}
