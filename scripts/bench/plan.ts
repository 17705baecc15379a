/** What is measured, and for how long. The long plan is for figures to keep. */

/** Measured unless one is chosen. */
export const USUAL_PARTS = [
  'store',
  'bets',
  'openLoop',
  'batches',
  'state',
  'logReading',
  'signIns',
  'moves',
  'pools',
  'referrals',
  'webhooks',
] as const;
export const PARTS = [...USUAL_PARTS, 'kafka', 'soak'] as const;
export type Part = (typeof PARTS)[number];

export interface BenchPlan {
  readonly name: 'short' | 'full';
  /** A run that takes longer is broken: it is stopped, and nothing is reported. */
  readonly limitMs: number;
  /** How often the routes take turns: many short turns, so that noise of the machine affects all alike. */
  readonly rounds: number;
  /** At 1 connection, which has no bar. */
  readonly fewerRounds: number;
  /** Not counted: sockets open and caches fill. */
  readonly rampMs: number;
  readonly measuredMs: number;
  /** Once per route before anything is counted, so that both servers run compiled code. */
  readonly warmUpMs: number;
  readonly openLoopRounds: number;
  readonly openLoopMs: number;
  readonly liveBets: number;
  readonly stateSessions: number;
  readonly stateRounds: number;
  readonly logReadingRounds: number;
  readonly batchRounds: number;
  readonly storeRounds: number;
  readonly storeMeasuredMs: number;
  readonly replayRounds: number;
  readonly poolRounds: number;
  readonly referralRounds: number;
  readonly kafkaRounds: number;
  /** The number of users. */
  readonly referralChain: number;
  readonly webhookRounds: number;
  /** Of a turn at a fixed rate. */
  readonly webhookMs: number;
  readonly moveRounds: number;
  readonly movesPerRound: number;
}

export const SHORT_PLAN: BenchPlan = {
  name: 'short',
  limitMs: 900_000,
  rounds: 6,
  fewerRounds: 2,
  rampMs: 200,
  measuredMs: 800,
  warmUpMs: 2_000,
  openLoopRounds: 3,
  openLoopMs: 2_000,
  liveBets: 300_000,
  stateSessions: 1_000,
  stateRounds: 12,
  logReadingRounds: 3,
  batchRounds: 24,
  storeRounds: 5,
  storeMeasuredMs: 900,
  replayRounds: 3,
  poolRounds: 3,
  referralRounds: 3,
  kafkaRounds: 3,
  referralChain: 10_000,
  webhookRounds: 3,
  webhookMs: 4_000,
  moveRounds: 1,
  movesPerRound: 500,
};

export const FULL_PLAN: BenchPlan = {
  name: 'full',
  limitMs: 3_600_000,
  rounds: 15,
  fewerRounds: 7,
  rampMs: 500,
  measuredMs: 4_000,
  warmUpMs: 10_000,
  openLoopRounds: 7,
  openLoopMs: 10_000,
  liveBets: 3_000_000,
  stateSessions: 10_000,
  stateRounds: 9,
  logReadingRounds: 7,
  batchRounds: 24,
  storeRounds: 15,
  storeMeasuredMs: 3_000,
  replayRounds: 7,
  poolRounds: 7,
  referralRounds: 7,
  kafkaRounds: 7,
  referralChain: 10_000,
  webhookRounds: 7,
  webhookMs: 15_000,
  moveRounds: 5,
  movesPerRound: 2_000,
};

/** Unless `--minutes` says otherwise. */
export const SOAK_MINUTES = 15;

/** Bets in the long log before batches are measured, and in batches in the short one: after a fifth of them turns were half as fast. */
export const EVENTS_BEFORE_BATCHES = 1_000_000;
export const BETS_BEFORE_SHORT = 100_000;

/** A remembered bet takes 64 bytes at the most. */
export const BETS_PER_MIB_OF_CACHE = (1024 * 1024) / 64;

/** Bets a second. */
export const OPEN_LOOP_RATES = [500, 1_000, 2_000, 4_000] as const;
/** More than are ever in flight at these rates unless the service falls behind. */
export const OPEN_LOOP_CONNECTIONS = 256;

export const OPEN_SESSIONS = 1_000;
/** The number of distinct sessions verified, and of known players signing in, per turn. */
export const SIGNED_IN_PLAYERS = 1_000;
/** The number of bets in each batch. */
export const BATCH_CONNECTIONS = 4;
export const BETS_PER_BATCH = 1_000;
/** A session takes 100,000 writes. */
export const HOT_SESSION_MS = 2_000;
/** Few enough that a run's single bets still count among the first 200,000. */
export const BATCHES_PER_TURN = 20;
/** The number of bets after which the service's memory is read. */
export const BETS_BEFORE_MEMORY = 200_000;

/** Users whose wallets pay the deposits in turn. */
export const DEPOSITORS = 100;
/** Not counted: the first of them create the fee payer and the treasury. */
export const WARM_UP_MOVES = 100;

export const STORE_APPENDS_IN_FLIGHT = 256;
export const STORE_ROWS_PER_BATCH = 128;
export const REPLAY_PAGE_EVENTS = 1_000;
