/**
 * What a decision on a pool answers, and the resulting bodies. Each is made from the state alone, so a repeat gets it
 * again.
 */
import { encoderOf, type Rejection } from '@coffer/kernel';
import * as resource from './pool.resource.ts';
import type { KnownPool, RefundedPool, SettledPool } from './pool.state.ts';
import { amountAt, betIdAt, type Stakes, stakeAt, standingAt, userIdAt } from './stakes.ts';

export type PoolAnswer =
  | LockedAnswer
  | { readonly outcome: 'alreadyReleased' }
  | LostAnswer
  | ConfirmedAnswer
  | SettledAnswer
  | RefundedAnswer
  | ReleasedAnswer;

interface StakeContent {
  readonly betId: string;
  readonly userId: string;
  readonly currency: number;
  readonly amount: bigint;
}

export interface LockedAnswer extends StakeContent {
  readonly outcome: 'locked';
  readonly confirmBy: string;
}

/** The stake cannot enter the pool, now or later: its hold is closed in full, and the caller gets the refusal. */
export interface LostAnswer {
  readonly outcome: 'lost';
  readonly refusal: Rejection;
}

export interface ConfirmedAnswer extends StakeContent {
  readonly outcome: 'confirmed';
}

export interface Payout {
  readonly betId: string;
  readonly userId: string;
  readonly payout: bigint;
}

/** The revision is that of the event that closes the pool's holds, and `credits` is how many it closes. */
interface Closing {
  readonly revision: number;
  readonly credits: number;
}

export interface SettledAnswer extends Closing {
  readonly outcome: 'settled';
  readonly staked: bigint;
  readonly rake: bigint;
  readonly paid: bigint;
  readonly payouts: readonly Payout[];
  readonly released: readonly string[];
}

export interface RefundedAnswer extends Closing {
  readonly outcome: 'refunded';
  readonly refunds: readonly Omit<StakeContent, 'currency'>[];
}

export type ReleasedStake = Omit<StakeContent, 'currency'>;

export interface ReleasedAnswer {
  readonly outcome: 'released';
  readonly released: readonly ReleasedStake[];
  /** False if there may be more than one append can carry. */
  readonly areAll: boolean;
}

export function lockedAnswer(pool: KnownPool, stake: number): LockedAnswer {
  const { betId, userId, amount, confirmBy } = stakeAt(pool.stakes, stake);
  return { outcome: 'locked', betId, userId, currency: pool.currencyId, amount, confirmBy };
}

export function confirmedAnswer(pool: KnownPool, stake: number): ConfirmedAnswer {
  return { outcome: 'confirmed', currency: pool.currencyId, ...contentAt(pool.stakes, stake) };
}

/** Also from the stakes just before the settlement. */
export function settledAnswer({ stakes, end }: Pick<SettledPool, 'stakes' | 'end'>): SettledAnswer {
  const { staked, rake, named, payouts, released, credits, revision } = end;
  return {
    outcome: 'settled',
    staked,
    rake,
    paid: staked - rake,
    payouts: Array.from(named, (stake, index) => ({
      betId: betIdAt(stakes, stake),
      userId: userIdAt(stakes, stake),
      payout: payouts[index] ?? 0n,
    })),
    released: Array.from(released, (stake) => betIdAt(stakes, stake)),
    revision,
    credits,
  };
}

export function refundedAnswer({ stakes, end }: Pick<RefundedPool, 'stakes' | 'end'>): RefundedAnswer {
  const { credits, revision } = end;
  const all = Array.from({ length: stakes.count }, (_, place) => place + 1);
  const refunds = all
    .filter((stake) => standingAt(stakes, stake) !== 'released')
    .map((stake) => contentAt(stakes, stake));
  return { outcome: 'refunded', refunds, revision, credits };
}

export function contentAt(stakes: Stakes, stake: number) {
  return { betId: betIdAt(stakes, stake), userId: userIdAt(stakes, stake), amount: amountAt(stakes, stake) };
}

/** What a closed pool owes to a hold. */
export interface Credit {
  readonly stake: number;
  readonly betId: string;
  readonly userId: string;
  readonly payout: bigint;
}

/** What the end of a pool owes, in the order of the stakes: a function of the pool's stream alone. */
export function* creditsOf(pool: SettledPool | RefundedPool): Generator<Credit> {
  const { stakes } = pool;
  const payoutOf = payoutsOf(pool);
  for (let stake = 1; stake <= stakes.count; stake++) {
    const payout = payoutOf(stake);
    if (payout === undefined) continue;
    yield { stake, betId: betIdAt(stakes, stake), userId: userIdAt(stakes, stake), payout };
  }
}

/** What the end of a pool owes to each of its stakes; undefined for one that was released before. */
export function payoutsOf(pool: SettledPool | RefundedPool): (stake: number) => bigint | undefined {
  const { stakes } = pool;
  const givenBack = new Set(pool.status === 'settled' ? pool.end.released : []);
  const paid = new BigUint64Array(stakes.count + 1);
  if (pool.status === 'settled') {
    pool.end.named.forEach((stake, index) => {
      paid[stake] = pool.end.payouts[index] ?? 0n;
    });
  }
  return (stake) => {
    if (standingAt(stakes, stake) === 'released' && !givenBack.has(stake)) return undefined;
    return pool.status === 'refunded' || givenBack.has(stake) ? amountAt(stakes, stake) : paid[stake];
  };
}

/** The stake that is credited after all others; undefined for a pool whose end credits none. */
export function lastCredited(pool: SettledPool | RefundedPool): Pick<Credit, 'betId' | 'userId'> | undefined {
  const { stakes } = pool;
  const payoutOf = payoutsOf(pool);
  for (let stake = stakes.count; stake > 0; stake--) {
    if (payoutOf(stake) === undefined) continue;
    return { betId: betIdAt(stakes, stake), userId: userIdAt(stakes, stake) };
  }
  return undefined;
}

// Bodies

const locked = encoderOf(resource.lockedStake);
const confirmed = encoderOf(resource.confirmedStake);
const settled = encoderOf(resource.settledPool);
const refunded = encoderOf(resource.refundedPool);
export const releasedBody = encoderOf(resource.releasedStakes);

export const lockedBody = (poolId: string, answer: LockedAnswer) =>
  locked({ poolId, ...answer, status: 'locked' });
export const confirmedBody = (poolId: string, answer: ConfirmedAnswer) =>
  confirmed({ poolId, ...answer, status: 'confirmed' });
export const settledBody = (poolId: string, answer: SettledAnswer) =>
  settled({ poolId, ...answer, status: 'settled' });
export const refundedBody = (poolId: string, answer: RefundedAnswer) =>
  refunded({ poolId, ...answer, status: 'refunded' });
