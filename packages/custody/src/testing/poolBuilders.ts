/** Builders for the specs of pools: `locked(1, 100n)`, `confirmed(1, 100n)`, `settle({ rake: 0n, payouts: [...] })`. */
import type { PoolEvent, PoolFact } from '../domain/pool.events.ts';
import type { PoolCommand } from '../domain/pool.ts';

const LOCKED_AT = '2026-01-31T12:00:00.000Z';
export const CONFIRM_BY = '2026-01-31T12:15:00.000Z';
export const POOL_ID = 'round-1';

/** Stakes belong to as many users as there are numbers, unless said otherwise. */
export const user = (stake: number) => `usr_0000000000000000000000000${stake}`;
export const bet = (stake: number) => `bet-${stake}`;

// Commands

type Content = Omit<PoolFact<'StakeLocked'>, 'stake'>;

const content = (stake: number, amount: bigint, change: Partial<Content> = {}): Content => ({
  betId: bet(stake),
  userId: user(stake),
  currencyId: 1,
  amount,
  lockedAt: LOCKED_AT,
  confirmBy: CONFIRM_BY,
  ...change,
});

export const lock = (stake: number, amount: bigint, change: Partial<Content> = {}): PoolCommand => ({
  type: 'LockStake',
  ...content(stake, amount, change),
});
export const confirm = (stake: number): PoolCommand => ({ type: 'ConfirmStake', betId: bet(stake) });
export const pays = (stake: number, payout: bigint, userId = user(stake)) => ({
  betId: bet(stake),
  userId,
  payout,
});
export const settle = (
  change: Partial<Omit<Extract<PoolCommand, { type: 'SettlePool' }>, 'type'>> = {},
): PoolCommand => ({ type: 'SettlePool', poolId: POOL_ID, currencyId: 1, rake: 0n, payouts: [], ...change });
export const refund = (reason?: string): PoolCommand => ({
  type: 'RefundPool',
  poolId: POOL_ID,
  ...(reason === undefined ? {} : { reason }),
});
export const release = (at = CONFIRM_BY, olderThanSeconds = 0): PoolCommand => ({
  type: 'ReleaseOverdue',
  at,
  olderThanSeconds,
});

// Facts

export const locked = (stake: number, amount: bigint, change: Partial<Content> = {}): PoolEvent => ({
  type: 'StakeLocked',
  data: { stake, ...content(stake, amount, change) },
});
export const confirmed = (stake: number, amount: bigint): PoolEvent => ({
  type: 'StakeConfirmed',
  data: { stake, betId: bet(stake), amount },
});
export const released = (stake: number, amount: bigint, userId = user(stake)): PoolEvent => ({
  type: 'StakeReleased',
  data: { stake, betId: bet(stake), userId, currencyId: 1, amount },
});
export const settled = (data: Omit<PoolFact<'PoolSettled'>, 'currencyId'>): PoolEvent => ({
  type: 'PoolSettled',
  data: { currencyId: 1, ...data },
});
export const refunded = (data: Omit<PoolFact<'PoolRefunded'>, 'currencyId'>): PoolEvent => ({
  type: 'PoolRefunded',
  data: { currencyId: 1, ...data },
});
export const last = (stake: number) => ({ betId: bet(stake), userId: user(stake) });
