/** What all instruction decoders share. */
import { encodeBase58 } from '@coffer/kernel';
import type { Address } from '../port.ts';

/** An instruction with its accounts resolved to addresses. */
export interface InstructionContent {
  readonly programId: Address;
  readonly accounts: readonly Address[];
  readonly data: Uint8Array;
}

/**
 * The accounts that an instruction needs, by position; undefined if some are missing. Programs ignore further
 * ones, or read them as the signers of a multisig: `rest`.
 */
export function named<const Names extends readonly string[]>(
  accounts: readonly Address[],
  ...names: Names
): ({ readonly [Name in Names[number]]: Address } & { readonly rest: readonly Address[] }) | undefined {
  if (accounts.length < names.length) return undefined;
  const fields = Object.fromEntries(names.map((name, index) => [name, accounts[index]]));
  // Each name has the account at its position, and there are enough accounts.
  return { ...fields, rest: accounts.slice(names.length) } as never;
}

export const addressAt = (data: Buffer, at: number): Address => encodeBase58(data.subarray(at, at + 32));
