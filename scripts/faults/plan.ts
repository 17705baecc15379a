/** How much goes wrong in a run, and in which proportions. */
import type { FailPointName } from '@coffer/kernel';

export interface FaultPlan {
  /** At least this many, including deaths. */
  readonly faults: number;
  /** How often a worker dies at each step of a move. */
  readonly deathsAtEachStep: number;
  /** How often a worker dies at a random instant. */
  readonly deathsAtRandom: number;
  /** How often a service dies at each step of a request. */
  readonly deathsOfEachRequest: number;
  readonly users: number;
  /** Moves under way at the same time. */
  readonly movesAtOnce: number;
  /** A run that is not over by then is hanging. */
  readonly limitMs: number;
}

export const FULL_PLAN: FaultPlan = {
  faults: 10_000,
  deathsAtEachStep: 12,
  deathsAtRandom: 40,
  deathsOfEachRequest: 4,
  users: 36,
  movesAtOnce: 40,
  limitMs: 60 * 60_000,
};

export const SMALL_PLAN: FaultPlan = {
  faults: 500,
  deathsAtEachStep: 1,
  deathsAtRandom: 3,
  deathsOfEachRequest: 1,
  users: 12,
  movesAtOnce: 12,
  limitMs: 4 * 60_000,
};

/** The steps of a move in the chain worker. */
export const MOVE_STEPS = [
  'move.beforeSign',
  'move.signed',
  'move.sent',
  'move.submitted',
  'move.expired',
  'move.final',
  'move.confirmed',
] as const satisfies readonly FailPointName[];

export const REQUEST_STEPS = [
  'deposit.beforeRequest',
  'deposit.requested',
  'cashOut.beforeHold',
  'cashOut.held',
  'cashOut.requested',
  'distribute.decided',
  'withdraw.setAside',
  'withdraw.decided',
] as const satisfies readonly FailPointName[];

export const deathsIn = (plan: FaultPlan) => ({
  ofWorkers: MOVE_STEPS.length * plan.deathsAtEachStep + plan.deathsAtRandom,
  ofRequests: REQUEST_STEPS.length * plan.deathsOfEachRequest,
});
