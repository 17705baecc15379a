/** A run in words and in JSON. */
import { availableParallelism, cpus } from 'node:os';
import { type BarName, judge, median, ratios, type Verdict } from './bars.ts';
import type { HttpFigures, RouteName, RouteRow } from './httpRows.ts';
import { BETS_PER_BATCH, type BenchPlan } from './plan.ts';
import type { StoreFigures } from './store.ts';

export interface BenchResult {
  readonly plan: BenchPlan['name'];
  readonly machine: {
    readonly cores: number;
    readonly model: string;
    readonly node: string;
    readonly platform: string;
  };
  readonly routes: readonly RouteFigures[];
  readonly store: readonly StoreLine[];
  readonly memory: HttpFigures['memory'];
  /** The fastest turn of the no-op route against its slowest at the same connections: how quiet the machine was. */
  readonly spreadOfNoop: number;
  readonly verdicts: readonly Verdict[];
  readonly passed: boolean;
}

/** Medians over the rounds. */
interface RouteFigures {
  readonly route: RouteName;
  readonly connections: number;
  readonly requestsPerSecond: number;
  readonly betsPerSecond: number | null;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

interface StoreLine {
  readonly what: string;
  readonly perSecond: number;
}

const perSecond = (row: RouteRow): readonly number[] =>
  row.rounds.map(({ answers, measuredSeconds }) => answers / measuredSeconds);

export function resultOf(plan: BenchPlan, http: HttpFigures, store: StoreFigures): BenchResult {
  const rates = (route: RouteName, connections?: number): readonly number[] => {
    const row = http.rows.find(
      (one) => one.route === route && one.connections === (connections ?? one.connections),
    );
    if (!row) throw new Error(`${route} was not measured.`);
    return perSecond(row);
  };
  const noopAt64 = rates('noop', 64);
  const betAt64 = rates('bet', 64);
  const values: Readonly<Record<BarName, readonly number[]>> = {
    betAt64: ratios(betAt64, noopAt64),
    betAt256: ratios(rates('bet', 256), rates('noop', 256)),
    hotSessionAt64: ratios(rates('hotSession', 64), noopAt64),
    batch: ratios(
      rates('batch').map((batches) => batches * BETS_PER_BATCH),
      betAt64,
    ),
    append: ratios(store.appendsPerSecond, store.bareInsertsPerSecond),
    replay: ratios(store.replayedPerSecond, store.bareSelectedPerSecond),
    memory: [http.memory.residentMiB],
  };
  const bars: readonly BarName[] = [
    'betAt64',
    'betAt256',
    'hotSessionAt64',
    'batch',
    'append',
    'replay',
    'memory',
  ];
  const verdicts = bars.map((bar) => judge(bar, values[bar]));
  return {
    plan: plan.name,
    machine: {
      cores: availableParallelism(),
      model: cpus()[0]?.model ?? 'unknown',
      node: process.version,
      platform: process.platform,
    },
    routes: http.rows.map(figuresOf),
    store: [
      { what: 'bare insert, rows', perSecond: median(store.bareInsertsPerSecond) },
      { what: 'conditional append, events', perSecond: median(store.appendsPerSecond) },
      { what: 'bare select, rows', perSecond: median(store.bareSelectedPerSecond) },
      { what: 'replay, events', perSecond: median(store.replayedPerSecond) },
    ],
    memory: http.memory,
    spreadOfNoop: Math.max(spreadOf(noopAt64), spreadOf(rates('noop', 256))),
    verdicts,
    passed: verdicts.every(({ passed }) => passed),
  };
}

const spreadOf = (values: readonly number[]) => Math.max(...values) / Math.min(...values);

function figuresOf(row: RouteRow): RouteFigures {
  const requestsPerSecond = median(perSecond(row));
  const bets = { noop: null, bet: 1, hotSession: 1, batch: BETS_PER_BATCH }[row.route];
  return {
    route: row.route,
    connections: row.connections,
    requestsPerSecond,
    betsPerSecond: bets === null ? null : requestsPerSecond * bets,
    p50Ms: median(row.rounds.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(row.rounds.map(({ p99Ms }) => p99Ms)),
  };
}

const ROUTE_WORDS: Readonly<Record<RouteName, string>> = {
  noop: 'POST no-op',
  bet: 'POST /ledger/bet, 1,000 sessions',
  hotSession: 'POST /ledger/bet, one session',
  batch: 'POST /ledger/batch, 1,000 bets each',
};

/** A machine that is as good as idle stays below it. */
const BUSY_SPREAD = 1.3;

export function textOf(result: BenchResult): string {
  const { machine, plan, routes, store, memory, spreadOfNoop, verdicts, passed } = result;
  const whole = (value: number) => Math.round(value).toLocaleString('en-US');
  const short = (value: number) => value.toFixed(value < 10 ? 2 : 1);
  return [
    `${plan} run on ${machine.cores} cores of ${machine.model}, Node ${machine.node}, ${machine.platform}`,
    '',
    ...table([
      ['route', 'connections', 'requests/s', 'bets/s', 'p50 ms', 'p99 ms'],
      ...routes.map((row) => [
        ROUTE_WORDS[row.route],
        String(row.connections),
        row.route === 'batch' ? short(row.requestsPerSecond) : whole(row.requestsPerSecond),
        row.betsPerSecond === null ? '' : whole(row.betsPerSecond),
        short(row.p50Ms),
        short(row.p99Ms),
      ]),
    ]),
    '',
    ...table([['event store', 'per second'], ...store.map((line) => [line.what, whole(line.perSecond)])]),
    '',
    `memory of the service: ${whole(memory.residentMiB)} MiB after ${whole(memory.bets)} bets, ` +
      `${whole(memory.largestResidentMiB)} MiB at the most`,
    '',
    ...table([
      ['bar', 'measured', 'rounds', 'limit', ''],
      ...verdicts.map((verdict) => [
        verdict.name,
        short(verdict.value),
        verdict.rounds.map(short).join(' '),
        verdict.limit,
        verdict.passed ? 'pass' : 'MISS',
      ]),
    ]),
    '',
    ...(spreadOfNoop > BUSY_SPREAD
      ? [
          `The machine was busy with something else: the no-op route varied by a factor of ${short(spreadOfNoop)}.`,
        ]
      : []),
    passed ? 'All bars are passed.' : 'Not all bars are passed.',
    '',
  ].join('\n');
}

function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
}
