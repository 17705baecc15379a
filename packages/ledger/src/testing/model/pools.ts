/** Pools: stakes locked, confirmed, and paid out or given back by one decision. Source: contract, Custody. */
import type { Asking, LockTerms } from '../operations.ts';
import {
  accountOf,
  add,
  type Decided,
  figures,
  first,
  type Ledger,
  type Pool,
  Refusal,
  replay,
  type Stake,
  text,
} from './state.ts';

const codeOf = ({ known }: Ledger, currencyId: number): string => {
  const code = known.codes?.get(currencyId);
  if (code === undefined) throw new Refusal('custody/unknown_currency');
  return code;
};

export function lock(ledger: Ledger, operation: Asking<'lock'>): Decided {
  const { poolId, betId, userId, currencyId, amount, chosen } = operation;
  if (!ledger.known.users.includes(userId)) throw new Refusal('users/not_found');
  codeOf(ledger, currencyId);
  const pool = ledger.pools.get(poolId);
  const seen = pool && stakeBefore(pool, operation);
  if (seen?.status === 'released') throw new Refusal('custody/lock_released');
  if (seen) return replay(seen.body);
  if (pool) requireEntry(pool, currencyId);
  const holding = holdStake(ledger, operation);
  const body = {
    poolId,
    betId,
    userId,
    currency: currencyId,
    amount,
    status: 'locked',
    confirmBy: chosen.confirmBy,
  };
  return first(body, () => {
    if (holding.take) throw new Error('not taught: a stake that nothing is held for');
    const entered = pool ?? { currencyId, openedAt: chosen.lockedAt, stakes: new Map(), end: undefined };
    ledger.pools.set(poolId, entered);
    entered.stakes.set(betId, {
      userId,
      amount: BigInt(amount),
      body,
      confirmBy: chosen.confirmBy,
      status: 'locked',
      credit: undefined,
    });
  });
}

/** The stake of that bet, if it is this one. */
function stakeBefore(pool: Pool, { betId, userId, currencyId, amount }: LockTerms): Stake | undefined {
  const seen = pool.stakes.get(betId);
  if (!seen) return undefined;
  const conflict = (field: string) => new Refusal('custody/idempotency_conflict', { key: betId, field });
  if (seen.userId !== userId) throw conflict('userId');
  if (pool.currencyId !== currencyId) throw conflict('currency');
  if (text(seen.amount) !== amount) throw conflict('amount');
  return seen;
}

function requireEntry({ end, currencyId: own }: Pool, currencyId: number): void {
  if (end) throw new Refusal('custody/pool_closed', { status: end.status });
  if (own !== currencyId) throw new Refusal('custody/currency_mismatch', { currency: own });
}

/** The step of a lock that sets the funds apart, once per bet and account. */
export function holdStake(ledger: Ledger, operation: LockTerms): Decided {
  const { poolId, betId, userId, currencyId } = operation;
  const account = accountOf(ledger, { userId, currency: codeOf(ledger, currencyId) });
  const amount = BigInt(operation.amount);
  const seen = account.stakes.get(`${poolId}/${betId}`);
  if (seen) {
    if (seen.amount !== amount) {
      throw new Refusal('custody/idempotency_conflict', { key: betId, field: 'amount' });
    }
    return replay(figures(account));
  }
  if (amount > account.available) {
    throw new Refusal('custody/insufficient_funds', {
      available: text(account.available),
      amount: operation.amount,
    });
  }
  const { available, held } = account;
  return first(figures({ available: available - amount, held: held + amount }), () => {
    account.available -= amount;
    account.held += amount;
    account.stakes.set(`${poolId}/${betId}`, { amount, payout: undefined });
  });
}

/** The step that brings what the end of a pool decided, or that gives back what came too late. */
export function closeStake(ledger: Ledger, operation: Asking<'closeStake'>): Decided {
  const { poolId, betId, userId, currency } = operation;
  const account = accountOf(ledger, { userId, currency });
  const hold = account.stakes.get(`${poolId}/${betId}`);
  if (!hold) throw new Error(`not taught: closing what ${userId} never held`);
  const { amount } = hold;
  if (hold.payout !== undefined) return replay({ held: text(amount), payout: text(hold.payout) });
  const pool = ledger.pools.get(poolId);
  const stake = pool?.stakes.get(betId);
  const isOwn = pool && stake?.userId === userId && codeOf(ledger, pool.currencyId) === currency;
  if (isOwn && stake.credit === undefined) throw new Error(`not taught: closing a stake of open ${poolId}`);
  const payout = isOwn ? (stake.credit ?? 0n) : amount;
  return first({ held: text(amount), payout: text(payout) }, () => {
    hold.payout = payout;
    account.held -= amount;
    account.available += payout;
    add(ledger.inPools, currency, amount - payout);
  });
}

export function confirm(ledger: Ledger, { poolId, betId }: Asking<'confirm'>): Decided {
  const pool = poolOf(ledger, poolId);
  const stake = pool.stakes.get(betId);
  if (!stake) throw new Refusal('custody/bet_not_found');
  const { confirmBy: _, ...body } = { confirmBy: '', ...stake.body, status: 'confirmed' };
  if (stake.status === 'released') throw new Refusal('custody/lock_released');
  if (stake.status === 'confirmed') return replay(body);
  if (pool.end) throw new Refusal('custody/pool_closed', { status: pool.end.status });
  return first(body, () => {
    stake.status = 'confirmed';
  });
}

export function settlePool(ledger: Ledger, operation: Asking<'settlePool'>): Decided {
  const { poolId, currencyId, payouts } = operation;
  const rake = BigInt(operation.rake);
  const currency = codeOf(ledger, currencyId);
  const pool = poolOf(ledger, poolId);
  if (pool.end?.status === 'settled') {
    const field = settleDifference(pool, pool.end, operation);
    if (field) throw new Refusal('custody/idempotency_conflict', { key: poolId, field });
    return replay(pool.end.body);
  }
  if (pool.end) throw new Refusal('custody/pool_closed', { status: pool.end.status });
  if (pool.currencyId !== currencyId) {
    throw new Refusal('custody/currency_mismatch', { currency: pool.currencyId });
  }
  const paid = new Map<string, bigint>();
  for (const { betId, userId, payout } of payouts) {
    const stake = pool.stakes.get(betId);
    if (paid.has(betId)) throw new Refusal('custody/duplicate_payout', { betId });
    if (stake?.userId !== userId) throw new Refusal('custody/unknown_bet', { betId });
    if (stake.status !== 'confirmed') throw new Refusal('custody/bet_not_confirmed', { betId });
    paid.set(betId, BigInt(payout));
  }
  const staked = sumOf(pool, ({ status, amount }) => (status === 'confirmed' ? amount : 0n));
  const given = [...paid.values()].reduce((sum, each) => sum + each, 0n);
  if (rake + given !== staked) {
    throw new Refusal('custody/conservation_violated', {
      staked: text(staked),
      rake: operation.rake,
      paid: text(given),
    });
  }
  const released = [...pool.stakes].filter(([, { status }]) => status === 'locked').map(([betId]) => betId);
  const figuresOfEnd = { staked: text(staked), rake: text(rake), paid: text(given) };
  const body = { poolId, status: 'settled', ...figuresOfEnd, payouts, released };
  return first(body, () => {
    for (const [betId, stake] of pool.stakes) {
      stake.credit = stake.status === 'locked' ? stake.amount : (paid.get(betId) ?? 0n);
      if (stake.status === 'locked') stake.status = 'released';
    }
    pool.end = { status: 'settled', rake, paid: withoutZeros(paid), body };
    add(ledger.house, currency, rake);
    add(ledger.inPools, currency, -rake);
  });
}

function settleDifference(
  { currencyId, stakes }: Pool,
  end: Extract<NonNullable<Pool['end']>, { status: 'settled' }>,
  request: Asking<'settlePool'>,
): string | undefined {
  if (request.currencyId !== currencyId) return 'currency';
  if (BigInt(request.rake) !== end.rake) return 'rake';
  const isOfAStake = request.payouts.every(({ betId, userId }) => {
    const stake = stakes.get(betId);
    return stake?.userId === userId && stake.status === 'confirmed';
  });
  const asked = new Map(request.payouts.map(({ betId, payout }) => [betId, BigInt(payout)]));
  const isEachOnce = asked.size === request.payouts.length;
  const textOf = (paid: ReadonlyMap<string, bigint>) => [...withoutZeros(paid)].sort().join();
  return isOfAStake && isEachOnce && textOf(asked) === textOf(end.paid) ? undefined : 'payouts';
}

const withoutZeros = (paid: ReadonlyMap<string, bigint>): ReadonlyMap<string, bigint> =>
  new Map([...paid].filter(([, amount]) => amount > 0n));

export function refundPool(ledger: Ledger, { poolId, reason }: Asking<'refundPool'>): Decided {
  const pool = poolOf(ledger, poolId);
  if (pool.end?.status === 'refunded') {
    if (pool.end.reason === reason) return replay(pool.end.body);
    throw new Refusal('custody/idempotency_conflict', { key: poolId, field: 'reason' });
  }
  if (pool.end) throw new Refusal('custody/pool_closed', { status: pool.end.status });
  const refunds = [...pool.stakes].map(([betId, { userId, amount }]) => ({
    betId,
    userId,
    amount: text(amount),
  }));
  const body = { poolId, status: 'refunded', refunds };
  return first(body, () => {
    for (const stake of pool.stakes.values()) stake.credit = stake.amount;
    pool.end = { status: 'refunded', reason, body };
  });
}

function poolOf({ pools }: Ledger, poolId: string): Pool {
  const pool = pools.get(poolId);
  if (!pool) throw new Refusal('custody/pool_not_found');
  return pool;
}

const sumOf = ({ stakes }: Pool, amountOf: (stake: Stake) => bigint): bigint =>
  [...stakes.values()].reduce((sum, stake) => sum + amountOf(stake), 0n);
