/** What is measured, and how long. The short plan takes about three minutes; the long one is for figures to keep. */

export const PARTS = ['store', 'bets', 'signIns', 'moves'] as const;
export type Part = (typeof PARTS)[number];

export interface BenchPlan {
  readonly name: 'short' | 'full';
  /** A run that takes longer is broken: it is stopped and nothing is reported. */
  readonly limitMs: number;
  /** How often the routes take turns: short turns and many, so that noise of the machine meets all alike. */
  readonly rounds: number;
  /** At 1 connection, on which no bar stands. */
  readonly fewerRounds: number;
  /** Not counted: sockets open, caches fill. */
  readonly rampMs: number;
  readonly measuredMs: number;
  /** Once for each route before anything is counted, so that both servers run compiled code. */
  readonly warmUpMs: number;
  readonly storeRounds: number;
  readonly storeMeasuredMs: number;
  readonly replayRounds: number;
  readonly moveRounds: number;
  readonly movesPerRound: number;
}

export const SHORT_PLAN: BenchPlan = {
  name: 'short',
  limitMs: 420_000,
  rounds: 6,
  fewerRounds: 2,
  rampMs: 200,
  measuredMs: 800,
  warmUpMs: 2_000,
  storeRounds: 5,
  storeMeasuredMs: 900,
  replayRounds: 3,
  moveRounds: 1,
  movesPerRound: 500,
};

export const FULL_PLAN: BenchPlan = {
  name: 'full',
  limitMs: 1_800_000,
  rounds: 15,
  fewerRounds: 7,
  rampMs: 500,
  measuredMs: 4_000,
  warmUpMs: 10_000,
  storeRounds: 15,
  storeMeasuredMs: 3_000,
  replayRounds: 7,
  moveRounds: 5,
  movesPerRound: 2_000,
};

export const OPEN_SESSIONS = 1_000;
/** So many distinct sessions are verified, and so many known players sign in in a turn. */
export const SIGNED_IN_PLAYERS = 1_000;
/** All connections are busy with batches of so many bets each. */
export const BATCH_CONNECTIONS = 4;
export const BETS_PER_BATCH = 1_000;
/** So few that the single bets of a run still count among the first 200,000. */
export const BATCHES_PER_TURN = 20;
/** After so many bets the memory of the service is looked at. */
export const BETS_BEFORE_MEMORY = 200_000;

/** Users whose wallets pay the deposits, in turn. */
export const DEPOSITORS = 100;
/** Not counted: the wallets that pay fees and take deposits are made with the first of them. */
export const WARM_UP_MOVES = 100;

export const STORE_APPENDS_IN_FLIGHT = 256;
export const STORE_ROWS_PER_BATCH = 128;
export const REPLAY_PAGE_EVENTS = 1_000;
