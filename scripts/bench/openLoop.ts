/** Bets at fixed rates, with their latency from the time at which each was due. */
import { fileSyncs, type Latencies, singleInserts } from './bareSingles.ts';
import type { Run } from './children.ts';
import type { HttpBench } from './httpBench.ts';
import type { LoadReport } from './load.ts';
import { type BenchPlan, OPEN_LOOP_CONNECTIONS, OPEN_LOOP_RATES } from './plan.ts';
import type { ServiceUnderTest } from './service.ts';

export interface OpenLoopRow {
  readonly perSecond: number;
  readonly rounds: readonly (LoadReport & {
    /** Single durable inserts at the same rate, in the same round. */
    readonly bare: Latencies;
  })[];
}

export interface OpenLoopFigures {
  /**
   * The last row is at half of the most that was answered with 256 requests in flight. A row without rounds shows nothing:
   * the load generator was late itself in each.
   */
  readonly rows: readonly OpenLoopRow[];
  readonly fileSyncs: Latencies;
}

/** A generator that was later than this more than once in a hundred times has measured itself. */
const LATE_LIMIT_MS = 5;

export const isInTime = ({ lateP99Ms }: Pick<LoadReport, 'lateP99Ms'>): boolean =>
  (lateP99Ms ?? 0) <= LATE_LIMIT_MS;

export async function measureOpenLoop(
  run: Run,
  service: ServiceUnderTest,
  bench: HttpBench,
  plan: BenchPlan,
): Promise<OpenLoopFigures> {
  const { rampMs, warmUpMs, openLoopMs, openLoopRounds } = plan;
  const most = await bench.measure('bet', OPEN_LOOP_CONNECTIONS, {
    kind: 'time',
    rampMs,
    measuredMs: warmUpMs,
  });
  const half = Math.round(most.answers / most.measuredSeconds / 2);
  const rows = [...OPEN_LOOP_RATES, half].map((perSecond) => ({
    perSecond,
    rounds: [] as OpenLoopRow['rounds'][number][],
  }));
  for (let round = 0; round < openLoopRounds; round++) {
    for (const { perSecond, rounds } of rows) {
      await bench.rest();
      const requests = Math.round((perSecond * openLoopMs) / 1_000);
      const bare = await singleInserts(service.databaseUrl, { perSecond, requests });
      await bench.rest();
      const report = await bench.measure('bet', OPEN_LOOP_CONNECTIONS, {
        kind: 'rate',
        perSecond,
        measuredMs: openLoopMs,
      });
      const lateP99Ms = Math.max(report.lateP99Ms ?? 0, bare.lateP99Ms);
      if (!isInTime({ lateP99Ms })) {
        run.progress(`${perSecond}/s: not counted, its requests were ${lateP99Ms.toFixed(1)} ms late`);
        continue;
      }
      rounds.push({ ...report, bare });
      run.progress(`${perSecond}/s: p99 ${report.p99Ms.toFixed(1)} ms, bare ${bare.p99Ms.toFixed(1)} ms`);
    }
  }
  return { rows, fileSyncs: await fileSyncs(service.dataFolder) };
}
