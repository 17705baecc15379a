/**
 * Splits a pari-mutuel pool over its winners, so that rake and payouts are exactly what was staked, which
 * `POST /custody/settle` requires. Source: docs/api.md, Custody.
 */

/** A confirmed stake of the pool. */
export interface PoolStake {
  readonly betId: string;
  readonly userId: string;
  /** Base units, at least 1. */
  readonly amount: bigint;
}

export interface PoolSplit {
  /** What the house keeps: the rest of the division is never in it. */
  readonly rake: bigint;
  /** Smallest bet id first. */
  readonly payouts: readonly { readonly betId: string; readonly userId: string; readonly payout: bigint }[];
}

/** The house's part: in base units, or in basis points of what was staked (500 is 5 %). */
export type PoolRake =
  | { readonly rake: bigint; readonly rakeBps?: undefined }
  | { readonly rakeBps: number; readonly rake?: undefined };

const WHOLE_BPS = 10_000;

/**
 * The rake, rounded down if it is in basis points, and what each winner is paid: the rest of the pool in proportion to the
 * winners' stakes. Shares are rounded down, and the units left over go one each to those who lost most by the rounding
 * (the method of the largest remainder), ties to the smaller bet id. The order of the stakes does not matter.
 *
 * Throws a RangeError without a winner, since nobody can be paid then: refund the pool, or settle it with the whole pool
 * as the rake.
 */
export function splitPool(
  pool: {
    /** All confirmed stakes, of winners and losers. */
    readonly stakes: Iterable<PoolStake>;
    /** The bets that won. */
    readonly winners: Iterable<string>;
  } & PoolRake,
): PoolSplit {
  const stakes = stakesByBet(pool.stakes);
  const staked = sumOf([...stakes.values()]);
  const rake = rakeOf(pool, staked);
  const winning = [...new Set(pool.winners)].sort(byCodeUnits).map((betId) => {
    const stake = stakes.get(betId);
    if (!stake) throw new RangeError(`No stake of the pool is that of the winning bet "${betId}".`);
    return stake;
  });
  if (winning.length === 0) throw new RangeError('Without a winner the pool can only be refunded or raked.');

  const shares = byLargestRemainder(
    staked - rake,
    winning.map(({ amount }) => amount),
  );
  const payouts = winning.map(({ betId, userId }, index) => ({ betId, userId, payout: shares[index] ?? 0n }));
  return { rake, payouts };
}

function rakeOf({ rake, rakeBps }: PoolRake, staked: bigint): bigint {
  if (rake === undefined) {
    if (!Number.isInteger(rakeBps) || rakeBps < 0 || rakeBps > WHOLE_BPS) {
      throw new RangeError('A rake is a whole number of basis points from 0 to 10,000.');
    }
    return (staked * BigInt(rakeBps)) / BigInt(WHOLE_BPS);
  }
  if (rakeBps !== undefined) throw new RangeError('A rake is in base units or in basis points, not both.');
  if (typeof rake !== 'bigint') throw new TypeError('A rake is a bigint of base units.');
  if (rake < 0n || rake > staked) throw new RangeError('A rake is from 0 to the whole pool.');
  return rake;
}

function stakesByBet(stakes: Iterable<PoolStake>): ReadonlyMap<string, PoolStake> {
  const byBet = new Map<string, PoolStake>();
  for (const stake of stakes) {
    if (typeof stake.amount !== 'bigint') throw new TypeError('An amount is a bigint of base units.');
    if (stake.amount < 1n) throw new RangeError(`The stake of the bet "${stake.betId}" is less than 1.`);
    if (byBet.has(stake.betId)) throw new RangeError(`The bet "${stake.betId}" is there twice.`);
    byBet.set(stake.betId, stake);
  }
  return byBet;
}

const sumOf = (stakes: readonly PoolStake[]): bigint => stakes.reduce((sum, { amount }) => sum + amount, 0n);

/** Parts of the whole in proportion to the weights, whose sum is the whole. Equal remainders: the first one gains. */
function byLargestRemainder(whole: bigint, weights: readonly bigint[]): readonly bigint[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0n);
  const parts = weights.map((weight) => (whole * weight) / total);
  const left = Number(parts.reduce((rest, part) => rest - part, whole));
  weights
    .map((weight, index) => ({ index, remainder: (whole * weight) % total }))
    // Stable, so that equal remainders keep the order of the weights.
    .sort((one, other) => compare(other.remainder, one.remainder))
    .slice(0, left)
    .forEach(({ index }) => {
      parts[index] = (parts[index] ?? 0n) + 1n;
    });
  return parts;
}

const compare = (one: bigint, other: bigint): number => (one < other ? -1 : Number(one > other));

const byCodeUnits = (one: string, other: string): number => (one < other ? -1 : Number(one > other));
