/** Two checkouts in turns on one machine: what neither the hour nor a busy neighbour explains. */
import type { Run } from './children.ts';
import { type Comparison, compareRows, type MeasuredRow } from './compare.ts';
import { type HttpBench, prepareHttpBench, type RouteName, type RouteReport } from './httpBench.ts';
import { BATCH_CONNECTIONS, BATCHES_PER_TURN, type BenchPlan } from './plan.ts';
import { startService } from './service.ts';

const TURNS: readonly (readonly [route: RouteName, connections: number])[] = [
  ['bet', 1],
  ['bet', 64],
  ['bet', 256],
  ['hotSession', 64],
  ['batch', BATCH_CONNECTIONS],
];

const FIGURES: readonly {
  readonly words: string;
  readonly better: MeasuredRow['better'];
  readonly of: (report: RouteReport) => number;
}[] = [
  { words: 'requests/s', better: 'more', of: (report) => report.answers / report.measuredSeconds },
  { words: 'p99 ms', better: 'less', of: ({ p99Ms }) => p99Ms },
];

/** The other checkout is what was before. */
export async function measureAgainst(
  run: Run,
  plan: BenchPlan,
  folder: string,
): Promise<readonly Comparison[]> {
  const before: Side = { bench: await sideOf(run, plan, folder), rows: new Map() };
  const after: Side = { bench: await sideOf(run, plan, undefined), rows: new Map() };
  for (let round = 0; round < plan.rounds; round++) {
    // Whoever comes first meets a machine that has rested.
    const sides = round % 2 === 0 ? [before, after] : [after, before];
    for (const [route, connections] of TURNS) {
      for (const side of sides) await takeTurn(side, plan, route, connections);
      run.progress(`round ${round + 1} of ${plan.rounds}: ${route} at ${connections}`);
    }
  }
  return compareRows([...before.rows.values()], [...after.rows.values()], { paired: true });
}

interface Side {
  readonly bench: HttpBench;
  readonly rows: Map<string, MeasuredRow>;
}

async function sideOf(run: Run, plan: BenchPlan, root: string | undefined): Promise<HttpBench> {
  run.progress(`starting the service of ${root ?? 'this checkout'}`);
  const bench = await prepareHttpBench(run, await startService(run, root === undefined ? {} : { root }));
  await bench.measure('bet', 64, { kind: 'time', rampMs: 0, measuredMs: plan.warmUpMs });
  return bench;
}

async function takeTurn(
  { bench, rows }: Side,
  { rampMs, measuredMs }: BenchPlan,
  route: RouteName,
  connections: number,
): Promise<void> {
  await bench.rest();
  const until =
    route === 'batch'
      ? ({ kind: 'answers', answers: BATCHES_PER_TURN } as const)
      : ({ kind: 'time', rampMs, measuredMs } as const);
  const report = await bench.measure(route, connections, until);
  for (const { words, better, of } of FIGURES) {
    const name = `${route} at ${connections}: ${words}`;
    const rounds = rows.get(name)?.rounds ?? [];
    rows.set(name, { name, better, rounds: [...rounds, of(report)] });
  }
}
