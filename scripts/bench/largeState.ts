/** What many live bets cost: rates and memory with few of them and with many, in a service each. */
import type { Run } from './children.ts';
import { type HttpBench, prepareHttpBench } from './httpBench.ts';
import { placeBets, takeTurns } from './httpRows.ts';
import {
  BATCH_CONNECTIONS,
  BATCHES_PER_TURN,
  BETS_PER_BATCH,
  BETS_PER_MIB_OF_CACHE,
  type BenchPlan,
  EVENTS_BEFORE_BATCHES,
} from './plan.ts';
import { residentMiBOf } from './processorTimes.ts';
import { type ServiceUnderTest, startService } from './service.ts';

/** Bets as a share of plain Express, round by round, with few live bets and with all of them. */
export interface StateFigures {
  readonly cacheMiB: number | undefined;
  readonly liveBets: number;
  readonly sessions: number;
  readonly fresh: readonly number[];
  readonly filled: readonly number[];
  /** Of all processes but PostgreSQL; undefined where the system does not tell. */
  readonly residentMiB: number | undefined;
}

/** Bets a second in batches, round by round: into an empty log and into a long one. */
export interface BatchFigures {
  readonly first: readonly number[];
  readonly later: readonly number[];
  readonly eventsBefore: number;
}

const CONNECTIONS = 256;

/** First with all states in the cache, then with ten times as much as it holds. */
export async function measureState(run: Run, plan: BenchPlan): Promise<readonly StateFigures[]> {
  const tenth = Math.max(1, Math.round(plan.liveBets / BETS_PER_MIB_OF_CACHE / 10));
  const figures: StateFigures[] = [];
  for (const cacheMiB of [undefined, tenth]) {
    figures.push(
      await withService(run, plan, cacheMiB, (service, bench) => fill(run, plan, cacheMiB, service, bench)),
    );
  }
  return figures;
}

async function fill(
  run: Run,
  plan: BenchPlan,
  cacheMiB: number | undefined,
  service: ServiceUnderTest,
  bench: HttpBench,
): Promise<StateFigures> {
  const { liveBets, stateSessions: sessions, stateRounds } = plan;
  const rates = async (): Promise<readonly number[]> => {
    const turns = [['express', CONNECTIONS] as const, ['bet', CONNECTIONS] as const];
    const [express, bets] = await takeTurns(run, bench, plan, turns, stateRounds);
    return (bets?.rounds ?? []).map(({ answers, measuredSeconds }, round) => {
      const yardstick = express?.rounds[round];
      if (!yardstick) throw new Error('The two sides were not measured in the same rounds.');
      return answers / measuredSeconds / (yardstick.answers / yardstick.measuredSeconds);
    });
  };
  await bench.measure('bet', CONNECTIONS, { kind: 'time', rampMs: 0, measuredMs: plan.warmUpMs });
  const fresh = await rates();
  run.progress(`filling up to ${liveBets} live bets`);
  await placeBets(bench, Math.max(0, liveBets - bench.bets()));
  // The readers of the log have their own row: what they still have to do of the filling is not the state's cost.
  await bench.rest();
  // Before the rates, which add as many bets as the machine allows.
  const figures = {
    cacheMiB,
    liveBets: bench.bets(),
    sessions,
    residentMiB: await residentMiBOf(service.pid),
  };
  return { ...figures, fresh, filled: await rates() };
}

export function measureBatches(run: Run, plan: BenchPlan): Promise<BatchFigures> {
  return withService(run, plan, undefined, async (_, bench) => {
    const rates = async (): Promise<readonly number[]> => {
      const [batches] = await takeTurns(run, bench, plan, [['batch', BATCH_CONNECTIONS]], plan.batchRounds);
      return (batches?.rounds ?? []).map(
        ({ answers, measuredSeconds }) => (answers / measuredSeconds) * BETS_PER_BATCH,
      );
    };
    await bench.measure('bet', CONNECTIONS, { kind: 'time', rampMs: 0, measuredMs: plan.warmUpMs });
    await placeBets(bench, BATCHES_PER_TURN * BETS_PER_BATCH);
    const first = await rates();
    run.progress(`filling up to ${EVENTS_BEFORE_BATCHES} bets`);
    await placeBets(bench, Math.max(0, EVENTS_BEFORE_BATCHES - bench.bets()));
    const eventsBefore = bench.bets();
    return { first, later: await rates(), eventsBefore };
  });
}

export async function withService<Result>(
  run: Run,
  plan: BenchPlan,
  cacheMiB: number | undefined,
  work: (service: ServiceUnderTest, bench: HttpBench) => Promise<Result>,
): Promise<Result> {
  await using stack = run.stack.use(new AsyncDisposableStack());
  const ownRun: Run = { ...run, stack };
  run.progress(`starting a service with ${cacheMiB ?? 'the default number of'} MiB for states`);
  const environment = cacheMiB === undefined ? {} : { COFFER_CACHE_MIB: String(cacheMiB) };
  const service = await startService(ownRun, { environment });
  return await work(service, await prepareHttpBench(ownRun, service, plan.stateSessions));
}
