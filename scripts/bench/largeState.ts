/** What many live bets cost: rates and memory of services with few of them and with many, and batches into a long log. */
import type { Run } from './children.ts';
import { type HttpBench, prepareHttpBench } from './httpBench.ts';
import { placeBets, takeTurns } from './httpRows.ts';
import { perSecond as ratesOf } from './measuredRows.ts';
import {
  BATCH_CONNECTIONS,
  BETS_BEFORE_SHORT,
  BETS_PER_BATCH,
  BETS_PER_MIB_OF_CACHE,
  type BenchPlan,
  EVENTS_BEFORE_BATCHES,
} from './plan.ts';
import { residentMiBOf } from './processorTimes.ts';
import { type ServiceUnderTest, startService } from './service.ts';

/** Services that take turns. */
export interface StateFigures {
  readonly few: StateOfService;
  readonly inCache: StateOfService;
  /** Ten times as much as its cache holds. */
  readonly beyondCache: StateOfService;
}

interface StateOfService {
  readonly cacheMiB: number | undefined;
  /** Before the turns, which add as many as the machine allows. */
  readonly liveBets: number;
  readonly sessions: number;
  /** Bets a second, round by round. */
  readonly perSecond: readonly number[];
  /** Of all processes but PostgreSQL, before the turns; undefined where the system does not tell. */
  readonly residentMiB: number | undefined;
}

/** Bets a second in batches, round by round: services with a short log and with a long one take turns. */
export interface BatchFigures {
  readonly short: readonly number[];
  readonly long: readonly number[];
  /** In the long log, before the turns. */
  readonly eventsBefore: number;
}

const CONNECTIONS = 256;

/** In turns of a second or so: filling takes minutes, in which a machine may become twice as fast. */
export async function measureState(run: Run, plan: BenchPlan): Promise<StateFigures> {
  await using stack = run.stack.use(new AsyncDisposableStack());
  const ownRun: Run = { ...run, stack };
  const tenth = Math.max(1, Math.round(plan.liveBets / BETS_PER_MIB_OF_CACHE / 10));
  const few = await openFilled(ownRun, plan, { liveBets: 0 });
  const inCache = await openFilled(ownRun, plan, { liveBets: plan.liveBets });
  const beyondCache = await openFilled(ownRun, plan, { liveBets: plan.liveBets, cacheMiB: tenth });
  for (let round = 0; round < plan.stateRounds; round++) {
    for (const { bench, perSecond } of [few, inCache, beyondCache]) {
      const [row] = await takeTurns(ownRun, bench, plan, [['bet', CONNECTIONS]], 1);
      if (row) perSecond.push(...ratesOf(row));
    }
  }
  return { few: few.figures, inCache: inCache.figures, beyondCache: beyondCache.figures };
}

async function openFilled(
  run: Run,
  plan: BenchPlan,
  { liveBets, cacheMiB }: { readonly liveBets: number; readonly cacheMiB?: number },
): Promise<{ bench: HttpBench; perSecond: number[]; figures: StateOfService }> {
  const { service, bench } = await openService(run, plan, cacheOf(cacheMiB));
  await bench.measure('bet', CONNECTIONS, { kind: 'time', rampMs: 0, measuredMs: plan.warmUpMs });
  if (liveBets > 0) {
    run.progress(`filling up to ${liveBets} live bets`);
    await placeBets(bench, Math.max(0, liveBets - bench.bets()));
  }
  // The readers of the log have their own row: what they still have to do of the filling is not the state's cost.
  await bench.rest();
  const perSecond: number[] = [];
  const figures: StateOfService = {
    cacheMiB,
    liveBets: bench.bets(),
    sessions: plan.stateSessions,
    perSecond,
    residentMiB: await residentMiBOf(service.pid),
  };
  return { bench, perSecond, figures };
}

export async function measureBatches(run: Run, plan: BenchPlan): Promise<BatchFigures> {
  await using stack = run.stack.use(new AsyncDisposableStack());
  const ownRun: Run = { ...run, stack };
  const short = await openFilled(ownRun, plan, { liveBets: 0 });
  // Its code is compiled by then, as the other's is once that is filled.
  await placeBets(short.bench, BETS_BEFORE_SHORT);
  const long = await openFilled(ownRun, plan, { liveBets: EVENTS_BEFORE_BATCHES });
  for (let round = 0; round < plan.batchRounds; round++) {
    for (const { bench, perSecond } of [short, long]) {
      const [row] = await takeTurns(ownRun, bench, plan, [['batch', BATCH_CONNECTIONS]], 1);
      if (row) perSecond.push(...ratesOf(row).map((batches) => batches * BETS_PER_BATCH));
      // Neither works in the other's turn.
      await bench.rest();
    }
  }
  return { short: short.perSecond, long: long.perSecond, eventsBefore: long.figures.liveBets };
}

type Environment = Readonly<Record<string, string>>;

export async function withService<Result>(
  run: Run,
  plan: BenchPlan,
  environment: Environment,
  work: (service: ServiceUnderTest, bench: HttpBench) => Promise<Result>,
): Promise<Result> {
  await using stack = run.stack.use(new AsyncDisposableStack());
  const { service, bench } = await openService({ ...run, stack }, plan, environment);
  return await work(service, bench);
}

/** Undefined: the service's default. */
export const cacheOf = (cacheMiB: number | undefined): Environment =>
  cacheMiB === undefined ? {} : { COFFER_CACHE_MIB: String(cacheMiB) };

async function openService(run: Run, plan: BenchPlan, environment: Environment) {
  const settings = Object.entries(environment).map(([name, value]) => ` ${name}=${value}`);
  run.progress(`starting a service${settings.length > 0 ? ` with${settings.join()}` : ''}`);
  const service = await startService(run, { environment });
  return { service, bench: await prepareHttpBench(run, service, plan.stateSessions) };
}
