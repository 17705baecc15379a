/** One amount over the levels of a chain of referrers. Source: contract, Referrals (amounts). */

/** A user above, with the level counted from 1, the direct referrer. */
export interface ChainLink {
  readonly level: number;
  readonly userId: string;
  readonly isErased: boolean;
}

export interface Part {
  readonly level: number;
  readonly userId: string;
  /** Of 10,000. */
  readonly bps: number;
  readonly amount: bigint;
}

const WHOLE_BPS = 10_000n;

/**
 * A part for each level that has a share and a user, rounded down. What rounding leaves over, what levels beyond the
 * end of the chain would have had, and what erased users do not get, stays with the house.
 */
export function splitByLevels(
  { amount, levels }: { readonly amount: bigint; readonly levels: readonly number[] },
  chain: readonly ChainLink[],
): { readonly distributed: Part[]; readonly withheld: Part[] } {
  const distributed: Part[] = [];
  const withheld: Part[] = [];
  for (const { level, userId, isErased } of chain) {
    const bps = levels[level - 1];
    if (bps === undefined) continue;
    const part = { level, userId, bps, amount: (amount * BigInt(bps)) / WHOLE_BPS };
    (isErased ? withheld : distributed).push(part);
  }
  return { distributed, withheld };
}

/** What stays with the house. */
export const remainderOf = (amount: bigint, distributed: readonly Pick<Part, 'amount'>[]): bigint =>
  distributed.reduce((left, part) => left - part.amount, amount);
