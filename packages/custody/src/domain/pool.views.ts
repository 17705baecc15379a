/** A pool and its stakes as they are now, from the state of the pool. Source: contract, Custody. */
import { payoutsOf } from './pool.answers.ts';
import type { StakeStatus } from './pool.resource.ts';
import type { KnownPool } from './pool.state.ts';
import { type Stake, stakeAt } from './stakes.ts';

export interface PoolView {
  readonly currency: number;
  readonly status: KnownPool['status'];
  readonly staked: bigint;
  readonly confirmed: bigint;
  readonly locked: bigint;
  /** How many credits its end makes. */
  readonly credits: number;
}

export function poolView(pool: KnownPool): PoolView {
  const { currencyId: currency, status, confirmed, locked } = pool;
  const credits = pool.status === 'open' ? 0 : pool.end.credits;
  return { currency, status, staked: confirmed + locked, confirmed, locked, credits };
}

export interface StakeView extends Pick<Stake, 'stake' | 'betId' | 'userId' | 'amount'> {
  readonly status: StakeStatus;
  readonly payout: bigint | null;
  readonly at: string;
}

/** The stakes after this one with that status, in their order; at most so many. */
export function stakeViews(
  pool: KnownPool,
  {
    after,
    status,
    limit,
  }: { readonly after: number; readonly status?: StakeStatus | undefined; readonly limit: number },
): readonly StakeView[] {
  const payoutOf = pool.status === 'open' ? undefined : payoutsOf(pool);
  const found: StakeView[] = [];
  for (let stake = after + 1; stake <= pool.stakes.count && found.length < limit; stake++) {
    const { betId, userId, amount, standing, lockedAt: at } = stakeAt(pool.stakes, stake);
    const payout = standing === 'released' ? null : (payoutOf?.(stake) ?? null);
    const shown = standing === 'released' || pool.status === 'open' ? standing : pool.status;
    if (status === undefined || shown === status) {
      found.push({ stake, betId, userId, amount, status: shown, payout, at });
    }
  }
  return found;
}
