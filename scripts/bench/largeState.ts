/** What many live bets cost: rates and memory with few of them and with many, in a service each, and over a long time. */
import type { Run } from './children.ts';
import { type HttpBench, prepareHttpBench } from './httpBench.ts';
import { placeBets, takeTurns } from './httpRows.ts';
import type { LoadReport } from './load.ts';
import { LATE_LIMIT_MS } from './openLoop.ts';
import { BETS_PER_MIB_OF_CACHE, type BenchPlan, OPEN_LOOP_CONNECTIONS } from './plan.ts';
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

export interface SoakFigures {
  readonly perSecond: number;
  /** One after another, without a pause. */
  readonly slices: readonly (LoadReport & { readonly residentMiB: number | undefined })[];
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
  const filled = await rates();
  const residentMiB = await residentMiBOf(service.pid);
  return { cacheMiB, liveBets: bench.bets(), sessions, fresh, filled, residentMiB };
}

/** Bets at 70 % of the most that is answered, for a long time. */
export function measureSoak(run: Run, plan: BenchPlan): Promise<SoakFigures> {
  return withService(run, plan, undefined, async (service, bench) => {
    const { rampMs, warmUpMs, soakSlices, soakSliceMs } = plan;
    const most = await bench.measure('bet', CONNECTIONS, { kind: 'time', rampMs, measuredMs: 2 * warmUpMs });
    const perSecond = Math.round((0.7 * most.answers) / most.measuredSeconds);
    const slices: SoakFigures['slices'][number][] = [];
    for (let slice = 0; slice < soakSlices; slice++) {
      const until = { kind: 'rate', perSecond, measuredMs: soakSliceMs } as const;
      const report = await bench.measure('bet', OPEN_LOOP_CONNECTIONS, until);
      if ((report.lateP99Ms ?? 0) > LATE_LIMIT_MS) {
        throw new Error(`The load generator was ${report.lateP99Ms} ms late itself: the soak shows nothing.`);
      }
      slices.push({ ...report, residentMiB: await residentMiBOf(service.pid) });
      run.progress(`${perSecond}/s, slice ${slice + 1} of ${soakSlices}: p99 ${report.p99Ms.toFixed(1)} ms`);
    }
    return { perSecond, slices };
  });
}

async function withService<Result>(
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
