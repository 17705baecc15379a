/** What a transaction costs whoever pays for it. Source: https://solana.com/docs/core/fees */
import type { DecodedInstruction } from '@coffer/solana';

const LAMPORTS_PER_SIGNATURE = 5_000n;
const MAX_UNITS = 1_400_000n;
/** Per instruction if no limit is set; some programs have less, so this is the upper bound. */
const DEFAULT_UNITS = 200_000n;
const MICRO_LAMPORTS = 1_000_000n;

export interface Fee {
  readonly signatures: bigint;
  readonly priority: bigint;
}

/** The most it can be. Undefined if limit or price is set twice, which the runtime refuses. */
export function feeOf(instructions: readonly DecodedInstruction[], signatures: number): Fee | undefined {
  const limits = instructions.flatMap((one) =>
    one.program === 'computeBudget' && one.name === 'SetComputeUnitLimit' ? [one.units] : [],
  );
  const prices = instructions.flatMap((one) =>
    one.program === 'computeBudget' && one.name === 'SetComputeUnitPrice' ? [one.microLamports] : [],
  );
  if (limits.length > 1 || prices.length > 1) return undefined;

  const calls = instructions.filter(({ program }) => program !== 'computeBudget').length;
  const asked = limits[0] ?? DEFAULT_UNITS * BigInt(calls);
  const units = asked < MAX_UNITS ? asked : MAX_UNITS;
  const microLamports = units * (prices[0] ?? 0n);
  return {
    signatures: LAMPORTS_PER_SIGNATURE * BigInt(signatures),
    // Rounded up, as the runtime does.
    priority: (microLamports + MICRO_LAMPORTS - 1n) / MICRO_LAMPORTS,
  };
}
