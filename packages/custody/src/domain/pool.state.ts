/** What a pool remembers from its events: enough to decide, to repeat every answer, and to say whose funds it moves. */
import assert from 'node:assert/strict';
import { MAX_AMOUNT } from '@coffer/kernel';
import type { PoolEvent, PoolFact } from './pool.events.ts';
import {
  amountAt,
  betIdAt,
  noStakes,
  type Stakes,
  standingAt,
  userIdAt,
  withConfirmed,
  withReleased,
  withStake,
} from './stakes.ts';

/** Nothing was ever written to the stream. */
interface UnknownPool {
  readonly status: 'unknown';
  readonly revision: -1;
}

export interface PoolFacts {
  /** The revision of the last event folded. */
  readonly revision: number;
  readonly currencyId: number;
  readonly stakes: Stakes;
  /** Stakes that are locked but not confirmed. Base units. */
  readonly locked: bigint;
  readonly confirmed: bigint;
  /** How many stakes were released. */
  readonly releasedCount: number;
}

/** How the pool was settled; the arrays are never changed. */
export interface Settlement {
  readonly staked: bigint;
  readonly rake: bigint;
  /** The stakes that payouts named, in the order of the request, and what each was paid. */
  readonly named: Uint32Array;
  readonly payouts: BigUint64Array;
  /** The stakes that the settlement released. */
  readonly released: Uint32Array;
  /** How many holds it closes. */
  readonly credits: number;
  readonly revision: number;
}

export interface Refund {
  readonly refunded: bigint;
  readonly reason: string | undefined;
  readonly credits: number;
  readonly revision: number;
}

export interface OpenPool extends PoolFacts {
  readonly status: 'open';
}
export interface SettledPool extends PoolFacts {
  readonly status: 'settled';
  readonly end: Settlement;
}
export interface RefundedPool extends PoolFacts {
  readonly status: 'refunded';
  readonly end: Refund;
}

type ClosedPool = SettledPool | RefundedPool;
export type KnownPool = OpenPool | ClosedPool;
export type Pool = UnknownPool | KnownPool;

export const initialState: Pool = { status: 'unknown', revision: -1 };

const openedIn = (currencyId: number): OpenPool => ({
  status: 'open',
  revision: -1,
  currencyId,
  stakes: noStakes(),
  locked: 0n,
  confirmed: 0n,
  releasedCount: 0,
});

/** Stakes in the pool that were not released: as many holds as its end closes. */
export const standingCount = ({ stakes, releasedCount }: PoolFacts): number => stakes.count - releasedCount;

export function evolve(pool: Pool, event: PoolEvent): Pool {
  if (event.type === 'StakeLocked') {
    return withLocked(pool.status === 'unknown' ? openedIn(event.data.currencyId) : pool, event.data);
  }
  assert(pool.status !== 'unknown', `${event.type} before StakeLocked`);
  assert(pool.status === 'open', `${event.type} in a closed pool`);
  const revision = pool.revision + 1;
  switch (event.type) {
    case 'StakeConfirmed': {
      const { stake, amount } = event.data;
      assertStake(pool, event.data);
      return {
        ...pool,
        revision,
        stakes: withConfirmed(pool.stakes, stake),
        locked: pool.locked - amount,
        confirmed: pool.confirmed + amount,
      };
    }
    case 'StakeReleased': {
      const { stake, userId, currencyId } = event.data;
      assertStake(pool, event.data);
      assert(userIdAt(pool.stakes, stake) === userId && currencyId === pool.currencyId, 'whose stake it is');
      return { ...withoutLocked(pool, [stake]), revision };
    }
    case 'PoolSettled':
      return withSettled(pool, event.data);
    case 'PoolRefunded': {
      const { currencyId, refunded, credits } = event.data;
      assert(currencyId === pool.currencyId && credits === standingCount(pool));
      assert(refunded === pool.locked + pool.confirmed, 'the whole pool is given back');
      return { ...pool, status: 'refunded', revision, end: refundOf(event.data, revision) };
    }
    default:
      throw new assert.AssertionError({ message: 'no such event', actual: event satisfies never });
  }
}

function withLocked(pool: KnownPool, { stake, currencyId, ...locked }: PoolFact<'StakeLocked'>): KnownPool {
  assert(pool.status === 'open', 'StakeLocked in a closed pool');
  assert(stake === pool.stakes.count + 1, 'stakes are numbered in order');
  assert(currencyId === pool.currencyId, 'a pool has one currency');
  assert(locked.amount <= MAX_AMOUNT);
  return {
    ...pool,
    revision: pool.revision + 1,
    stakes: withStake(pool.stakes, locked),
    locked: pool.locked + locked.amount,
  };
}

function withoutLocked(pool: OpenPool, released: readonly number[]): OpenPool {
  let { stakes, locked } = pool;
  for (const stake of released) {
    stakes = withReleased(stakes, stake);
    locked -= amountAt(stakes, stake);
  }
  return { ...pool, stakes, locked, releasedCount: pool.releasedCount + released.length };
}

function withSettled(pool: OpenPool, settled: PoolFact<'PoolSettled'>): SettledPool {
  const { currencyId, staked, rake, payouts, released, credits } = settled;
  assert(currencyId === pool.currencyId && credits === standingCount(pool));
  assert(staked === pool.confirmed);
  const paid = payouts.reduce((sum, [, amount]) => sum + amount, 0n);
  assert(rake + paid === staked, 'what was staked is paid out');
  for (const [stake, amount] of payouts) {
    assert(standingAt(pool.stakes, stake) === 'confirmed' && amount <= MAX_AMOUNT);
  }
  const closed = withoutLocked(pool, released);
  assert(closed.locked === 0n, 'what is not confirmed is given back');
  const revision = pool.revision + 1;
  return { ...closed, status: 'settled', revision, end: settlementOf(settled, revision) };
}

export function settlementOf(settled: PoolFact<'PoolSettled'>, revision: number): Settlement {
  const { staked, rake, payouts, released, credits } = settled;
  return {
    staked,
    rake,
    named: Uint32Array.from(payouts, ([stake]) => stake),
    payouts: BigUint64Array.from(payouts, ([, amount]) => amount),
    released: Uint32Array.from(released),
    credits,
    revision,
  };
}

export function refundOf({ refunded, reason, credits }: PoolFact<'PoolRefunded'>, revision: number): Refund {
  return { refunded, reason, credits, revision };
}

function assertStake(
  { stakes }: PoolFacts,
  { stake, betId, amount }: Pick<PoolFact<'StakeConfirmed'>, 'stake' | 'betId' | 'amount'>,
): void {
  assert(betIdAt(stakes, stake) === betId && amountAt(stakes, stake) === amount, 'which stake it is');
}
