/** A run as JSON. */
import type { Latencies } from './bareSingles.ts';
import { judge, median, ratios, type Verdict } from './bars.ts';
import type { MeasuredRow } from './compare.ts';
import type { RouteName } from './httpBench.ts';
import type { BetFigures, RouteRow } from './httpRows.ts';
import { type KafkaFigures, kafkaVerdicts } from './kafkaRows.ts';
import type { BatchFigures, StateFigures } from './largeState.ts';
import type { LogReadingFigures } from './logReading.ts';
import type { MachineFacts } from './machine.ts';
import { measuredRows, perSecond } from './measuredRows.ts';
import { type MoveReport, moveReport } from './moveReport.ts';
import type { MoveFigures } from './moveRows.ts';
import { isInTime, type OpenLoopFigures, type OpenLoopRow } from './openLoop.ts';
import { BETS_PER_BATCH, type BenchPlan } from './plan.ts';
import { type PoolFigures, poolVerdicts } from './poolRows.ts';
import { type ReferralFigures, referralVerdicts } from './referralRows.ts';
import type { SoakFigures, SoakMinute } from './soak.ts';
import type { StoreFigures } from './store.ts';
import { type WebhookFigures, webhookVerdicts } from './webhookRows.ts';

/** What was measured; parts that were left out are missing. */
export interface Figures {
  readonly store?: StoreFigures | undefined;
  readonly bets?: BetFigures | undefined;
  readonly openLoop?: OpenLoopFigures | undefined;
  readonly signIns?: readonly RouteRow[] | undefined;
  readonly moves?: MoveFigures | undefined;
  readonly pools?: PoolFigures | undefined;
  readonly referrals?: ReferralFigures | undefined;
  readonly webhooks?: WebhookFigures | undefined;
  readonly kafka?: KafkaFigures | undefined;
  readonly batches?: BatchFigures | undefined;
  readonly state?: StateFigures | undefined;
  readonly logReading?: LogReadingFigures | undefined;
  readonly soak?: SoakFigures | undefined;
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
  readonly state: StateFigures | undefined;
  readonly soak: readonly SoakLine[];
  /** p99 in ms of plain Express at a soak's share of its most, in short turns. */
  readonly yardstickOfSoak: readonly number[];
  readonly store: readonly StoreLine[];
  /** Verification and reconciliation of a long log. */
  readonly logReading: LogReadingFigures | undefined;
  readonly memory: BetFigures['memory'] | undefined;
  /** Complete sign-ins of known players: a challenge and its verification. */
  readonly signIns: { readonly perSecond: number; readonly shareOfYardstick: number } | undefined;
  readonly pools: PoolFigures | undefined;
  readonly referrals: ReferralFigures | undefined;
  readonly webhooks: WebhookFigures | undefined;
  readonly kafka: KafkaFigures | undefined;
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
  const { store, bets, openLoop, batches, state, logReading, soak, signIns, moves } = figures;
  const { pools, referrals, webhooks, kafka } = figures;
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
    ...(webhooks ? webhookVerdicts(webhooks) : []),
    ...(kafka ? kafkaVerdicts(kafka) : []),
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
    state,
    soak: soak ? soakLines(soak) : [],
    yardstickOfSoak: soak?.yardstickP99Ms ?? [],
    store: store ? storeLines(store) : [],
    logReading,
    memory: bets?.memory,
    signIns: signIns && signInFigures(signIns),
    moves: moves && moveReport(moves),
    pools,
    referrals,
    webhooks,
    kafka,
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

function stateVerdicts({ few, inCache, beyondCache }: StateFigures): readonly Verdict[] {
  const { residentMiB, liveBets } = inCache;
  return [
    judge('stateInCache', ratios(inCache.perSecond, few.perSecond)),
    judge('stateBeyondCache', ratios(beyondCache.perSecond, few.perSecond)),
    ...(residentMiB !== undefined && liveBets >= JUDGED_LIVE_BETS
      ? [judge('stateMemory', [residentMiB])]
      : []),
  ];
}

const batchVerdicts = ({ short, long }: BatchFigures): readonly Verdict[] => [
  judge('batchLater', long),
  judge('batchKept', ratios(long, short)),
];

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

/** The first but one and the last, or those nearest to them in the same half in which the generator was not late. */
function judgedMinutes(lines: readonly SoakLine[]): readonly [SoakLine | undefined, SoakLine | undefined] {
  const half = Math.ceil(lines.length / 2);
  return [lines.slice(1, half).find(isInTime), lines.slice(half).findLast(isInTime)];
}

const WAS_LATE = 'the load generator was late itself';

const unmeasuredBy = ({ openLoop, soak }: Figures): readonly string[] => [
  ...(openLoop?.rows ?? [])
    .filter(({ rounds }) => rounds.length === 0)
    .map(({ perSecond: rate }) => `bets at ${rate.toLocaleString('en-US')}/s: ${WAS_LATE} in every round`),
  ...(soak && judgedMinutes(soakLines(soak)).includes(undefined)
    ? [`soak: ${WAS_LATE} throughout its first or its second half`]
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
