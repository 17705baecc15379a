/**
 * A pool: the stakes of many players in escrow, closed by one decision that pays it out or gives it back.
 * Source: contract, Custody; docs/api.md has the order of the checks.
 */
import assert from 'node:assert/strict';
import { type Decision, type Environment, type Rejection, type StreamType, streamName } from '@coffer/kernel';
import { reject } from '../errors.ts';
import {
  confirmedAnswer,
  contentAt,
  lockedAnswer,
  type Payout,
  type PoolAnswer,
  refundedAnswer,
  settledAnswer,
} from './pool.answers.ts';
import { type PoolEvent, type PoolFact, poolEvents } from './pool.events.ts';
import { MAX_STAKES } from './pool.resource.ts';
import { decodePool, encodePool } from './pool.snapshot.ts';
import {
  evolve,
  initialState,
  type KnownPool,
  type OpenPool,
  type Pool,
  refundOf,
  type SettledPool,
  settlementOf,
  standingCount,
} from './pool.state.ts';
import {
  amountAt,
  bytesOfStakes,
  isOverdueAt,
  type NewStake,
  stakeOf,
  standingAt,
  userIdAt,
} from './stakes.ts';

// Stream

const CATEGORY = 'pool';

export function poolStream(environment: Environment, appId: string, poolId: string): string {
  return streamName(CATEGORY, environment, appId, poolId);
}

// Commands

export type PoolCommand =
  | ({ readonly type: 'LockStake'; readonly currencyId: number } & NewStake)
  | { readonly type: 'ConfirmStake'; readonly betId: string }
  | {
      readonly type: 'SettlePool';
      /** The pool's own id: the key that a conflict names. */
      readonly poolId: string;
      readonly currencyId: number;
      readonly rake: bigint;
      readonly payouts: readonly Payout[];
    }
  | { readonly type: 'RefundPool'; readonly poolId: string; readonly reason?: string | undefined }
  | {
      readonly type: 'ReleaseOverdue';
      /** The time of the decision: ISO 8601 UTC. */
      readonly at: string;
      /** Since the lock, in addition to being past its `confirmBy`. */
      readonly olderThanSeconds: number;
    };

/** As many releases as fit one append. */
export const MAX_RELEASES = 1_000;

// Decide

type PoolDecision = Decision<PoolEvent, PoolAnswer>;
type CommandOf<Type extends PoolCommand['type']> = Extract<PoolCommand, { type: Type }>;

function decide(pool: Pool, command: PoolCommand): PoolDecision {
  switch (command.type) {
    case 'LockStake':
      return lockStake(pool, command);
    case 'ReleaseOverdue':
      return releaseOverdue(pool, command);
    default:
  }
  if (pool.status === 'unknown') throw reject('custody/pool_not_found');
  switch (command.type) {
    case 'ConfirmStake':
      return confirmStake(pool, command.betId);
    case 'SettlePool':
      return settlePool(pool, command);
    case 'RefundPool':
      return refundPool(pool, command);
    default:
      throw new assert.AssertionError({ message: 'no such command', actual: command satisfies never });
  }
}

/** What a pool says to a stake that would enter it. */
export type StakeLook =
  | { readonly found: 'same'; readonly stake: number }
  | { readonly found: 'released' }
  /** The bet has a stake with other content; `field` is the first that differs. */
  | { readonly found: 'other'; readonly field: string }
  /** Whether it may enter: a refusal stands for ever. */
  | { readonly found: 'none'; readonly refusal: Rejection | undefined };

export interface StakeContent {
  readonly betId: string;
  readonly userId: string;
  readonly currencyId: number;
  readonly amount: bigint;
}

export function lookForStake(pool: Pool, { betId, userId, currencyId, amount }: StakeContent): StakeLook {
  if (pool.status === 'unknown') return { found: 'none', refusal: undefined };
  const stake = stakeOf(pool.stakes, betId);
  if (stake === undefined) return { found: 'none', refusal: refusalOfNewStake(pool, currencyId) };
  if (userIdAt(pool.stakes, stake) !== userId) return { found: 'other', field: 'userId' };
  if (pool.currencyId !== currencyId) return { found: 'other', field: 'currency' };
  if (amountAt(pool.stakes, stake) !== amount) return { found: 'other', field: 'amount' };
  return standingAt(pool.stakes, stake) === 'released' ? { found: 'released' } : { found: 'same', stake };
}

function refusalOfNewStake(pool: KnownPool, currencyId: number): Rejection | undefined {
  if (pool.status !== 'open') return closed(pool);
  if (pool.currencyId !== currencyId)
    return reject('custody/currency_mismatch', { currency: pool.currencyId });
  return pool.stakes.count >= MAX_STAKES ? reject('custody/pool_full') : undefined;
}

/** The act of a hold. It throws no refusal, because whoever carries it out must know what becomes of the hold. */
function lockStake(pool: Pool, { type: _, ...locked }: CommandOf<'LockStake'>): PoolDecision {
  const look = lookForStake(pool, locked);
  switch (look.found) {
    case 'same':
      assert(pool.status !== 'unknown');
      // Another process may have released it in the meantime.
      return { events: [], answer: lockedAnswer(pool, look.stake), replayed: true, revocable: true };
    case 'released':
      return { events: [], answer: { outcome: 'alreadyReleased' } };
    case 'other':
      return { events: [], answer: { outcome: 'lost', refusal: conflict(locked.betId, look.field) } };
    case 'none':
      if (look.refusal) return { events: [], answer: { outcome: 'lost', refusal: look.refusal } };
  }
  const stake = pool.status === 'unknown' ? 1 : pool.stakes.count + 1;
  const { betId, userId, currencyId, amount, lockedAt, confirmBy } = locked;
  return {
    events: [
      { type: 'StakeLocked', data: { stake, betId, userId, currencyId, amount, lockedAt, confirmBy } },
    ],
    answer: { outcome: 'locked', betId, userId, currency: currencyId, amount, confirmBy },
  };
}

function confirmStake(pool: KnownPool, betId: string): PoolDecision {
  const stake = stakeOf(pool.stakes, betId);
  if (stake === undefined) throw reject('custody/bet_not_found');
  const answer = confirmedAnswer(pool, stake);
  switch (standingAt(pool.stakes, stake)) {
    case 'confirmed':
      return { events: [], answer, replayed: true };
    case 'released':
      throw reject('custody/lock_released');
    case 'locked':
  }
  if (pool.status !== 'open') throw closed(pool);
  return { events: [{ type: 'StakeConfirmed', data: { stake, betId, amount: answer.amount } }], answer };
}

function settlePool(pool: KnownPool, command: CommandOf<'SettlePool'>): PoolDecision {
  if (pool.status === 'settled') {
    const field = settleDifference(pool, command);
    if (field) throw conflict(command.poolId, field);
    return { events: [], answer: settledAnswer(pool), replayed: true };
  }
  if (pool.status === 'refunded') throw closed(pool);
  const { currencyId } = pool;
  if (command.currencyId !== currencyId) throw reject('custody/currency_mismatch', { currency: currencyId });
  const { rake } = command;
  const payouts = payoutsOf(pool, command.payouts);
  const paid = payouts.reduce((sum, [, amount]) => sum + amount, 0n);
  const staked = pool.confirmed;
  if (rake + paid !== staked) throw reject('custody/conservation_violated', { staked, rake, paid });

  const released = stakesThatAre('locked', pool);
  const settled = { currencyId, staked, rake, payouts, released, ...creditsIn(pool) };
  const end = settlementOf(settled, pool.revision + 1);
  return {
    events: [{ type: 'PoolSettled', data: settled }],
    answer: settledAnswer({ stakes: pool.stakes, end }),
  };
}

/** Throws the first refusal, in the order of the payouts. */
function payoutsOf({ stakes }: OpenPool, payouts: readonly Payout[]): PoolFact<'PoolSettled'>['payouts'] {
  const seen = new Set<number>();
  return payouts.map(({ betId, userId, payout }) => {
    const stake = stakeOf(stakes, betId);
    if (stake === undefined) throw reject('custody/unknown_bet', { betId });
    if (seen.has(stake)) throw reject('custody/duplicate_payout', { betId });
    seen.add(stake);
    if (userIdAt(stakes, stake) !== userId) throw reject('custody/unknown_bet', { betId });
    if (standingAt(stakes, stake) !== 'confirmed') throw reject('custody/bet_not_confirmed', { betId });
    return [stake, payout];
  });
}

/** The first field in which a request differs from the settlement. The order of payouts does not count, nor do zeros. */
function settleDifference(
  { currencyId, stakes, end }: SettledPool,
  request: CommandOf<'SettlePool'>,
): string | undefined {
  if (request.currencyId !== currencyId) return 'currency';
  if (request.rake !== end.rake) return 'rake';
  const unpaid = new Map<number, bigint>();
  end.named.forEach((stake, index) => {
    unpaid.set(stake, end.payouts[index] ?? 0n);
  });
  const seen = new Set<number>();
  for (const { betId, userId, payout } of request.payouts) {
    const stake = stakeOf(stakes, betId);
    if (stake === undefined || seen.has(stake) || userIdAt(stakes, stake) !== userId) return 'payouts';
    if (standingAt(stakes, stake) !== 'confirmed' || (unpaid.get(stake) ?? 0n) !== payout) return 'payouts';
    seen.add(stake);
    unpaid.delete(stake);
  }
  return [...unpaid.values()].some((amount) => amount > 0n) ? 'payouts' : undefined;
}

function refundPool(pool: KnownPool, { poolId, reason }: CommandOf<'RefundPool'>): PoolDecision {
  if (pool.status === 'refunded') {
    if (pool.end.reason !== reason) throw conflict(poolId, 'reason');
    return { events: [], answer: refundedAnswer(pool), replayed: true };
  }
  if (pool.status === 'settled') throw closed(pool);
  const refunded = {
    currencyId: pool.currencyId,
    refunded: pool.locked + pool.confirmed,
    ...(reason === undefined ? {} : { reason }),
    ...creditsIn(pool),
  };
  return {
    events: [{ type: 'PoolRefunded', data: refunded }],
    answer: refundedAnswer({ stakes: pool.stakes, end: refundOf(refunded, pool.revision + 1) }),
  };
}

function releaseOverdue(pool: Pool, { at, olderThanSeconds }: CommandOf<'ReleaseOverdue'>): PoolDecision {
  if (pool.status !== 'open')
    return { events: [], answer: { outcome: 'released', released: [], areAll: true } };
  const { stakes, currencyId } = pool;
  const now = Date.parse(at);
  const overdue = stakesThatAre('locked', pool).filter((stake) =>
    isOverdueAt(stakes, stake, now, olderThanSeconds * 1_000),
  );
  const released = overdue.slice(0, MAX_RELEASES).map((stake) => ({ stake, ...contentAt(stakes, stake) }));
  return {
    events: released.map(({ stake, betId, userId, amount }) => ({
      type: 'StakeReleased',
      data: { stake, betId, userId, currencyId, amount },
    })),
    answer: {
      outcome: 'released',
      released: released.map(({ stake: _, ...content }) => content),
      areAll: released.length === overdue.length,
    },
  };
}

function stakesThatAre(standing: 'locked' | 'confirmed', { stakes }: KnownPool): number[] {
  const found: number[] = [];
  for (let stake = 1; stake <= stakes.count; stake++) {
    if (standingAt(stakes, stake) === standing) found.push(stake);
  }
  return found;
}

/** How many holds the end of the pool closes, and which of them last. */
function creditsIn(pool: OpenPool): Pick<PoolFact<'PoolRefunded'>, 'credits' | 'last'> {
  const credits = standingCount(pool);
  if (credits === 0) return { credits };
  let stake = pool.stakes.count;
  while (standingAt(pool.stakes, stake) === 'released') stake -= 1;
  const { betId, userId } = contentAt(pool.stakes, stake);
  return { credits, last: { betId, userId } };
}

function closed({ status }: KnownPool): Rejection {
  return reject('custody/pool_closed', { status });
}

function conflict(key: string, field: string): Rejection {
  return reject('custody/idempotency_conflict', { key, field });
}

// Stream type

function sizeOf(pool: Pool): number {
  if (pool.status === 'unknown') return 100;
  const end =
    pool.status === 'settled'
      ? pool.end.named.byteLength + pool.end.payouts.byteLength + pool.end.released.byteLength
      : 0;
  return BYTES_OF_FACTS + bytesOfStakes(pool.stakes) + end;
}

/** Of a pool without its stakes, with its place in the cache. */
const BYTES_OF_FACTS = 1_000;

export const pool: StreamType<PoolCommand, PoolEvent, Pool, PoolAnswer> = {
  category: CATEGORY,
  version: 3,
  codec: poolEvents,
  initialState,
  decide,
  evolve,
  crossesThreads: true,
  sizeOf,
  isEnded: ({ status }) => status === 'settled' || status === 'refunded',
  snapshot: { encode: encodePool, decode: decodePool },
};
