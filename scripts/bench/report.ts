/** A run as text and as JSON. */
import type { Latencies } from './bareSingles.ts';
import { judge, median, ratios, type Verdict } from './bars.ts';
import type { MeasuredRow } from './compare.ts';
import type { RouteName } from './httpBench.ts';
import type { BetFigures, RouteRow } from './httpRows.ts';
import type { BatchFigures, SoakFigures, SoakMinute, StateFigures } from './largeState.ts';
import type { LogReadingFigures } from './logReading.ts';
import type { MachineFacts } from './machine.ts';
import { measuredRows, perSecond, ROUTE_WORDS } from './measuredRows.ts';
import { type MoveReport, moveReport, moveTables } from './moveReport.ts';
import type { MoveFigures } from './moveRows.ts';
import { LATE_LIMIT_MS, type OpenLoopFigures, type OpenLoopRow } from './openLoop.ts';
import { BETS_PER_BATCH, type BenchPlan } from './plan.ts';
import { type PoolFigures, poolVerdicts } from './poolRows.ts';
import { type ReferralFigures, referralVerdicts } from './referralRows.ts';
import type { StoreFigures } from './store.ts';

/** What was measured; parts that were left out are undefined. */
export interface Figures {
  readonly store: StoreFigures | undefined;
  readonly bets: BetFigures | undefined;
  readonly openLoop: OpenLoopFigures | undefined;
  readonly signIns: readonly RouteRow[] | undefined;
  readonly moves: MoveFigures | undefined;
  readonly pools: PoolFigures | undefined;
  readonly referrals: ReferralFigures | undefined;
  readonly batches: BatchFigures | undefined;
  readonly state: readonly StateFigures[] | undefined;
  readonly logReading: LogReadingFigures | undefined;
  readonly soak: SoakFigures | undefined;
}

export interface BenchResult {
  readonly plan: BenchPlan['name'];
  readonly machine: MachineFacts;
  /** What two results are compared by. */
  readonly rows: readonly MeasuredRow[];
  readonly routes: readonly RouteFigures[];
  readonly openLoop: readonly OpenLoopLine[];
  /** How long the disk takes to keep 8 KiB. */
  readonly fileSyncs: Latencies | undefined;
  readonly batches: BatchFigures | undefined;
  readonly state: readonly StateFigures[];
  readonly soak: readonly SoakLine[];
  readonly store: readonly StoreLine[];
  /** Verification and reconciliation of a long log. */
  readonly logReading: LogReadingFigures | undefined;
  readonly memory: BetFigures['memory'] | undefined;
  /** Complete sign-ins of known players: a challenge and its verification. */
  readonly signIns: { readonly perSecond: number; readonly shareOfYardstick: number } | undefined;
  readonly pools: PoolFigures | undefined;
  readonly referrals: ReferralFigures | undefined;
  /** They have no bar. */
  readonly moves: MoveReport | undefined;
  /**
   * Plain Express's fastest turn against its slowest with the same connections: how quiet the machine was.
   */
  readonly spreadOfYardstick: number | undefined;
  /** What was to be measured and was not, and why. */
  readonly unmeasured: readonly string[];
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
  /** Of the API thread. */
  readonly loopDelayP99Ms: number | null;
  /** Microseconds of processor time of each request by process and thread, the largest first. */
  readonly spentUs: Readonly<Record<string, number>>;
}

/** Medians over the rounds; latencies from the due time. */
interface OpenLoopLine {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  /** Single durable inserts. */
  readonly bareP99Ms: number;
  /** The load generator's own lateness, included in the latencies. */
  readonly lateP99Ms: number;
}

interface SoakLine {
  readonly perSecond: number;
  readonly p99Ms: number;
  /** The load generator's own lateness, included in the latencies. */
  readonly lateP99Ms: number;
  readonly liveBets: number;
  readonly residentMiB: number | undefined;
}

interface StoreLine {
  readonly what: string;
  readonly perSecond: number;
}

/** Of the full plan. */
const JUDGED_LIVE_BETS = 3_000_000;
/** Bets a second, of the rates of the open loop. */
const JUDGED_RATE = 2_000;

export function resultOf(plan: BenchPlan, machine: MachineFacts, figures: Figures): BenchResult {
  const { store, bets, openLoop, batches, state, logReading, soak, signIns, moves, pools, referrals } =
    figures;
  const verdicts = [
    ...(bets ? betVerdicts(bets) : []),
    ...(openLoop ? openLoopVerdicts(openLoop) : []),
    ...(batches ? batchVerdicts(batches) : []),
    ...(state ? stateVerdicts(state) : []),
    ...(logReading
      ? [
          judge('logVerify', ratios(logReading.verify, logReading.bare)),
          judge('logReconcile', ratios(logReading.reconcile, logReading.bare)),
        ]
      : []),
    ...(soak ? soakVerdicts(soakLines(soak)) : []),
    ...(signIns ? [judge('verifyAt64', ratios(rates(signIns, 'verify'), rates(signIns, 'express')))] : []),
    ...(pools ? poolVerdicts(pools) : []),
    ...(referrals ? referralVerdicts(referrals) : []),
    ...(store ? storeVerdicts(store) : []),
  ];
  const unmeasured = unmeasuredBy(figures);
  const rows = [...(bets?.rows ?? []), ...(signIns ?? [])];
  const yardstickRows = rows.filter(({ route, connections }) => route === 'express' && connections > 1);
  return {
    plan: plan.name,
    machine,
    rows: measuredRows(verdicts, rows, figures),
    routes: rows.map(figuresOf),
    openLoop: openLoop ? openLoop.rows.filter(({ rounds }) => rounds.length > 0).map(openLoopLine) : [],
    fileSyncs: openLoop?.fileSyncs,
    batches,
    state: state ?? [],
    soak: soak ? soakLines(soak) : [],
    store: store ? storeLines(store) : [],
    logReading,
    memory: bets?.memory,
    signIns: signIns && signInFigures(signIns),
    moves: moves && moveReport(moves),
    pools,
    referrals,
    spreadOfYardstick:
      yardstickRows.length === 0
        ? undefined
        : Math.max(...yardstickRows.map((row) => spreadOf(perSecond(row)))),
    unmeasured,
    verdicts,
    passed: unmeasured.length === 0 && verdicts.every(({ passed }) => passed),
  };
}

function rates(rows: readonly RouteRow[], route: RouteName, connections?: number): readonly number[] {
  const row = rows.find((one) => one.route === route && one.connections === (connections ?? one.connections));
  if (!row) throw new Error(`${route} was not measured.`);
  return perSecond(row);
}

function betVerdicts({ rows }: BetFigures): readonly Verdict[] {
  const betAt64 = rates(rows, 'bet', 64);
  const betAt256 = rates(rows, 'bet', 256);
  const inBatches = rates(rows, 'batch').map((batches) => batches * BETS_PER_BATCH);
  return [
    judge('betAt256', ratios(betAt256, rates(rows, 'express', 256))),
    judge('betAt64', ratios(betAt64, betAt256)),
    judge('hotSession', ratios(rates(rows, 'hotSession', 64), betAt64)),
    judge('batch', inBatches),
    judge(
      'loopDelay',
      (rows.find(({ route, connections }) => route === 'bet' && connections === 256)?.rounds ?? []).map(
        ({ loopDelayP99Ms }) => loopDelayP99Ms ?? Number.NaN,
      ),
    ),
  ];
}

function openLoopVerdicts({ rows }: OpenLoopFigures): readonly Verdict[] {
  const at = rows.find(({ perSecond }) => perSecond === JUDGED_RATE)?.rounds ?? [];
  const half = rows.at(-1)?.rounds ?? [];
  const p99 = at.map((one) => one.p99Ms);
  const bareP99 = at.map(({ bare }) => bare.p99Ms);
  return [
    ...(at.length === 0 ? [] : [judge('openLoop', ratios(p99, bareP99))]),
    ...(half.length === 0
      ? []
      : [
          judge(
            'openLoopP99',
            half.map((one) => one.p99Ms),
          ),
          judge(
            'openLoopP999',
            half.map((one) => one.p999Ms),
          ),
        ]),
  ];
}

const openLoopLine = ({ perSecond, rounds }: OpenLoopRow): OpenLoopLine => ({
  perSecond,
  p50Ms: median(rounds.map((one) => one.p50Ms)),
  p99Ms: median(rounds.map((one) => one.p99Ms)),
  p999Ms: median(rounds.map((one) => one.p999Ms)),
  bareP99Ms: median(rounds.map(({ bare }) => bare.p99Ms)),
  lateP99Ms: median(rounds.map((one) => one.lateP99Ms ?? Number.NaN)),
});

function stateVerdicts([inCache, beyond]: readonly StateFigures[]): readonly Verdict[] {
  if (!inCache || !beyond) throw new Error('The large state was not measured.');
  const kept = ({ filled }: StateFigures) => filled.map((share) => share / median(inCache.fresh));
  const { residentMiB, liveBets } = inCache;
  return [
    judge('stateInCache', kept(inCache)),
    judge('stateBeyondCache', kept(beyond)),
    ...(residentMiB !== undefined && liveBets >= JUDGED_LIVE_BETS
      ? [judge('stateMemory', [residentMiB])]
      : []),
  ];
}

function batchVerdicts({ first, later }: BatchFigures): readonly Verdict[] {
  const kept = later.map((rate) => rate / median(first));
  return [judge('batchLater', later), judge('batchKept', kept)];
}

const soakLines = ({ minutes }: SoakFigures): readonly SoakLine[] => minutes.map(soakLine);

const soakLine = (minute: SoakMinute): SoakLine => ({
  perSecond: minute.answers / minute.measuredSeconds,
  p99Ms: minute.p99Ms,
  lateP99Ms: minute.lateP99Ms ?? Number.NaN,
  liveBets: minute.liveBets,
  residentMiB: minute.residentMiB,
});

/** The last minute against the second, because the first one warms up. */
function soakVerdicts(lines: readonly SoakLine[]): readonly Verdict[] {
  const [first, last] = judgedMinutes(lines);
  if (!first || !last) return [];
  const { residentMiB } = first;
  return [
    judge('soakRate', [last.perSecond / first.perSecond]),
    judge('soakP99', [last.p99Ms / first.p99Ms]),
    ...(residentMiB === undefined
      ? []
      : [judge('soakMemory', [(last.residentMiB ?? Number.NaN) / residentMiB])]),
  ];
}

/** Without those in which the generator was late. Undefined if fewer than two are left. */
function judgedMinutes(lines: readonly SoakLine[]): readonly [SoakLine | undefined, SoakLine | undefined] {
  const [first, ...others] = lines.slice(1).filter(({ lateP99Ms }) => lateP99Ms <= LATE_LIMIT_MS);
  return [first, others.at(-1)];
}

const WAS_LATE = 'the load generator was late itself';

const unmeasuredBy = ({ openLoop, soak }: Figures): readonly string[] => [
  ...(openLoop?.rows ?? [])
    .filter(({ rounds }) => rounds.length === 0)
    .map(({ perSecond: rate }) => `bets at ${rate.toLocaleString('en-US')}/s: ${WAS_LATE} in every round`),
  ...(soak && judgedMinutes(soakLines(soak))[1] === undefined
    ? [`soak: ${WAS_LATE} in all minutes but one`]
    : []),
];

const storeVerdicts = (store: StoreFigures): readonly Verdict[] => [
  judge('append', ratios(store.appendsPerSecond, store.bareInsertsPerSecond)),
  judge('replay', ratios(store.replayedPerSecond, store.bareSelectedPerSecond)),
];

const storeLines = (store: StoreFigures): readonly StoreLine[] => [
  { what: 'bare insert, rows', perSecond: median(store.bareInsertsPerSecond) },
  { what: 'conditional append, events', perSecond: median(store.appendsPerSecond) },
  { what: 'bare select, rows', perSecond: median(store.bareSelectedPerSecond) },
  { what: 'replay, events', perSecond: median(store.replayedPerSecond) },
];

/** A sign-in takes the time of a challenge and of its verification. */
function signInFigures(rows: readonly RouteRow[]): BenchResult['signIns'] {
  const challenges = rates(rows, 'challenge');
  const signIns = rates(rows, 'signIn').map(
    (rate, round) => 1 / (1 / rate + 1 / (challenges[round] ?? Number.NaN)),
  );
  return {
    perSecond: median(signIns),
    shareOfYardstick: median(ratios(signIns, rates(rows, 'express'))),
  };
}

const spreadOf = (values: readonly number[]) => Math.max(...values) / Math.min(...values);

const BETS_PER_REQUEST: Readonly<Record<RouteName, number | null>> = {
  express: null,
  http: null,
  bet: 1,
  hotSession: 1,
  batch: BETS_PER_BATCH,
  verify: null,
  challenge: null,
  signIn: null,
};

function figuresOf(row: RouteRow): RouteFigures {
  const requestsPerSecond = median(perSecond(row));
  const bets = BETS_PER_REQUEST[row.route];
  return {
    route: row.route,
    connections: row.connections,
    requestsPerSecond,
    betsPerSecond: bets === null ? null : requestsPerSecond * bets,
    p50Ms: median(row.rounds.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(row.rounds.map(({ p99Ms }) => p99Ms)),
    loopDelayP99Ms: row.rounds.some(({ loopDelayP99Ms }) => loopDelayP99Ms === null)
      ? null
      : median(row.rounds.map(({ loopDelayP99Ms }) => loopDelayP99Ms ?? Number.NaN)),
    spentUs: spentUsOf(row),
  };
}

/** Over all rounds; what takes less than a microsecond is not told. */
function spentUsOf({ rounds }: RouteRow): Readonly<Record<string, number>> {
  const spentMs = new Map<string, number>();
  let answers = 0;
  for (const { spent, answersInAll } of rounds) {
    answers += answersInAll;
    for (const [what, ms] of spent) spentMs.set(what, (spentMs.get(what) ?? 0) + ms);
  }
  const shares = [...spentMs].map(([what, ms]) => [what, (ms * 1_000) / answers] as const);
  return Object.fromEntries(
    shares.filter(([, us]) => us >= 1).toSorted(([, left], [, right]) => right - left),
  );
}

/** A practically idle machine stays below it. */
const BUSY_SPREAD = 1.3;

export function textOf(result: BenchResult): string {
  const {
    machine,
    plan,
    routes,
    openLoop,
    fileSyncs,
    batches,
    state,
    soak,
    store,
    logReading,
    memory,
    signIns,
    moves,
    spreadOfYardstick,
    unmeasured,
    verdicts,
    passed,
  } = result;
  const whole = (value: number) => Math.round(value).toLocaleString('en-US');
  const short = (value: number) => (value < 1_000 ? value.toFixed(value < 10 ? 2 : 1) : whole(value));
  return [
    `${plan} run of ${machine.commit}`,
    `on ${machine.cores} cores of ${machine.model}, ${whole(machine.memoryMiB)} MiB, ${machine.kernel}, ${machine.fileSystem}`,
    `Node ${machine.node}, PostgreSQL ${machine.postgres.version}`,
    `load average ${machine.loadAtStart.map(short).join(' ')} at the start, ${machine.loadAtEnd.map(short).join(' ')} at the end`,
    '',
    ...section(routes, [
      ['route', 'connections', 'requests/s', 'bets/s', 'p50 ms', 'p99 ms', 'loop p99 ms'],
      ...routes.map((row) => [
        ROUTE_WORDS[row.route],
        String(row.connections),
        row.route === 'batch' ? short(row.requestsPerSecond) : whole(row.requestsPerSecond),
        row.betsPerSecond === null ? '' : whole(row.betsPerSecond),
        short(row.p50Ms),
        short(row.p99Ms),
        row.loopDelayP99Ms === null ? '' : short(row.loopDelayP99Ms),
      ]),
    ]),
    ...section(spentLines(routes), [
      ['processor time of a bet, 256 connections', 'us'],
      ...spentLines(routes),
    ]),
    ...section(openLoop, [
      ['bets at a fixed rate', 'p50 ms', 'p99 ms', 'p99.9 ms', 'bare p99 ms', 'generator late p99 ms'],
      ...openLoop.map((line) => [
        `${whole(line.perSecond)}/s`,
        ...[line.p50Ms, line.p99Ms, line.p999Ms, line.bareP99Ms, line.lateP99Ms].map(short),
      ]),
    ]),
    ...(fileSyncs
      ? [`fdatasync of 8 KiB: p50 ${short(fileSyncs.p50Ms)} ms, p99 ${short(fileSyncs.p99Ms)} ms`, '']
      : []),
    ...(batches
      ? [
          `batches of 1,000 bets: ${whole(median(batches.first))} bets/s at first, ` +
            `${whole(median(batches.later))} after ${whole(batches.eventsBefore)} bets`,
          '',
        ]
      : []),
    ...section(state, [
      ['live bets', 'sessions', 'MiB for states', 'share of Express, fresh', 'filled', 'MiB in all'],
      ...state.map((one) => [
        whole(one.liveBets),
        whole(one.sessions),
        one.cacheMiB === undefined ? 'default' : whole(one.cacheMiB),
        short(median(one.fresh)),
        short(median(one.filled)),
        one.residentMiB === undefined ? '' : whole(one.residentMiB),
      ]),
    ]),
    ...section(soak, [
      ['soak, minute', 'bets/s', 'p99 ms', 'generator late p99 ms', 'live bets', 'MiB in all'],
      ...soak.map((one, index) => [
        String(index + 1),
        whole(one.perSecond),
        short(one.p99Ms),
        short(one.lateP99Ms),
        whole(one.liveBets),
        one.residentMiB === undefined ? '' : whole(one.residentMiB),
      ]),
    ]),
    ...section(store, [
      ['event store', 'per second'],
      ...store.map((line) => [line.what, whole(line.perSecond)]),
    ]),
    ...(logReading
      ? [
          `log of ${whole(logReading.events)} events, a second: bare select ${whole(median(logReading.bare))}, ` +
            `verification ${whole(median(logReading.verify))}, full reconciliation ${whole(median(logReading.reconcile))}`,
          '',
        ]
      : []),
    ...(memory
      ? [
          `memory of the service: ${whole(memory.residentMiB)} MiB with ${whole(memory.bets)} live bets, ` +
            `${whole(memory.largestResidentMiB)} MiB at the most`,
          '',
        ]
      : []),
    ...(signIns
      ? [
          `sign-ins of known users, challenge and verification: ${whole(signIns.perSecond)} a second, ` +
            `${short(signIns.shareOfYardstick)} of plain Express`,
          '',
        ]
      : []),
    ...(moves
      ? [
          ...moveTables(moves, whole).flatMap((rows) => [...table(rows), '']),
          `processor time of the service per deposit: ${short(moves.cpuMsPerMove)} ms`,
          `deposits to the last one confirmed / bare transfers to the last one final: ${short(moves.shareOfBare)}`,
          '',
        ]
      : []),
    ...section(verdicts, [
      ['bar', 'measured', 'rounds', 'limit', ''],
      ...verdicts.map((verdict) => [
        verdict.name,
        short(verdict.value),
        verdict.rounds.map(short).join(' '),
        verdict.limit,
        verdict.passed ? 'pass' : 'MISS',
      ]),
    ]),
    ...(spreadOfYardstick !== undefined && spreadOfYardstick > BUSY_SPREAD
      ? [
          `The machine was busy with something else: plain Express varied by a factor of ${short(spreadOfYardstick)}.`,
        ]
      : []),
    ...unmeasured.map((what) => `Not measured: ${what}.`),
    ...(verdicts.length === 0 ? [] : [passed ? 'All bars are passed.' : 'Not all bars are passed.']),
    '',
  ].join('\n');
}

const spentLines = (routes: BenchResult['routes']): readonly (readonly string[])[] => {
  const row = routes.find(({ route, connections }) => route === 'bet' && connections === 256);
  return Object.entries(row?.spentUs ?? {}).map(([what, us]) => [what, us.toFixed(1)]);
};

/** Empty if nothing was measured. */
const section = (measured: readonly unknown[], rows: readonly (readonly string[])[]): readonly string[] =>
  measured.length === 0 ? [] : [...table(rows), ''];

export function table(rows: readonly (readonly string[])[]): readonly string[] {
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
