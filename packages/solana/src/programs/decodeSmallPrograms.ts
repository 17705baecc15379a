/** Instructions of the associated token, compute budget, memo and lookup table programs. */
import { isUtf8 } from 'node:buffer';
import type { Address } from '../port.ts';
import { SYSTEM_PROGRAM, TOKEN_PROGRAMS } from './ids.ts';
import { type InstructionContent, named } from './readInstruction.ts';

/** Creates the account in which a wallet holds a token: paid by the payer, unless it already exists. */
export interface AssociatedTokenInstruction {
  readonly program: 'associatedToken';
  readonly name: 'Create' | 'CreateIdempotent';
  readonly payer: Address;
  readonly account: Address;
  readonly owner: Address;
  readonly mint: Address;
}

/**
 * Source: https://docs.rs/spl-associated-token-account-interface. No data at all means `Create`, as in its
 * first version.
 */
export function decodeAssociatedToken({
  accounts,
  data,
}: InstructionContent): AssociatedTokenInstruction | undefined {
  const roles = named(accounts, 'payer', 'account', 'owner', 'mint', 'system', 'tokens');
  if (!roles || data.length > 1) return undefined;
  const { payer, account, owner, mint, system, tokens } = roles;
  // The program calls these: any other one would be called with the payer's consent.
  if (system !== SYSTEM_PROGRAM || !TOKEN_PROGRAMS.includes(tokens)) return undefined;
  const tag = data[0] ?? 0;
  if (tag > 1) return undefined;
  return {
    program: 'associatedToken',
    name: tag === 0 ? 'Create' : 'CreateIdempotent',
    payer,
    account,
    owner,
    mint,
  };
}

export type ComputeBudgetInstruction = { readonly program: 'computeBudget' } & (
  | { readonly name: 'RequestHeapFrame' | 'SetLoadedAccountsDataSizeLimit' }
  | { readonly name: 'SetComputeUnitLimit'; readonly units: bigint }
  | { readonly name: 'SetComputeUnitPrice'; readonly microLamports: bigint }
);

/** Source: https://docs.rs/solana-compute-budget-interface. */
export function decodeComputeBudget({
  data: bytes,
}: InstructionContent): ComputeBudgetInstruction | undefined {
  const data = Buffer.from(bytes);
  const program = 'computeBudget';
  if (data.length === 9) {
    return data[0] === 3
      ? { program, name: 'SetComputeUnitPrice', microLamports: data.readBigUInt64LE(1) }
      : undefined;
  }
  if (data.length !== 5) return undefined;
  switch (data[0]) {
    case 1:
      return { program, name: 'RequestHeapFrame' };
    case 2:
      return { program, name: 'SetComputeUnitLimit', units: BigInt(data.readUInt32LE(1)) };
    case 4:
      return { program, name: 'SetLoadedAccountsDataSizeLimit' };
    default:
      return undefined;
  }
}

export interface MemoInstruction {
  readonly program: 'memo';
  readonly name: 'Memo';
  readonly text: string;
}

/** Any text; the program refuses anything else. */
export const decodeMemo = ({ data }: InstructionContent): MemoInstruction | undefined =>
  isUtf8(data) ? { program: 'memo', name: 'Memo', text: Buffer.from(data).toString('utf8') } : undefined;

export type LookupTableInstruction = { readonly program: 'lookupTable' } & (
  | {
      readonly name: 'CreateLookupTable' | 'ExtendLookupTable';
      readonly table: Address;
      readonly authority: Address;
      readonly payer: Address;
    }
  | { readonly name: 'DeactivateLookupTable'; readonly table: Address; readonly authority: Address }
  | {
      readonly name: 'CloseLookupTable';
      readonly table: Address;
      readonly authority: Address;
      readonly recipient: Address;
    }
  | { readonly name: 'FreezeLookupTable' }
);

/** Source: https://docs.rs/solana-address-lookup-table-interface. */
export function decodeLookupTable({
  accounts,
  data: bytes,
}: InstructionContent): LookupTableInstruction | undefined {
  const data = Buffer.from(bytes);
  if (data.length < 4) return undefined;
  const program = 'lookupTable';
  switch (data.readUInt32LE(0)) {
    case 0:
      return data.length === 13 ? paidFor('CreateLookupTable', accounts) : undefined;
    case 1:
      return data.length === 4 ? { program, name: 'FreezeLookupTable' } : undefined;
    case 2:
      return isExtension(data) ? paidFor('ExtendLookupTable', accounts) : undefined;
    case 3: {
      const roles = named(accounts, 'table', 'authority');
      if (!roles || data.length !== 4) return undefined;
      return { program, name: 'DeactivateLookupTable', table: roles.table, authority: roles.authority };
    }
    case 4: {
      const roles = named(accounts, 'table', 'authority', 'recipient');
      if (!roles || data.length !== 4) return undefined;
      const { table, authority, recipient } = roles;
      return { program, name: 'CloseLookupTable', table, authority, recipient };
    }
    default:
      return undefined;
  }
}

const isExtension = (data: Buffer): boolean =>
  data.length >= 12 && data.readBigUInt64LE(4) * 32n + 12n === BigInt(data.length);

function paidFor(
  name: 'CreateLookupTable' | 'ExtendLookupTable',
  accounts: readonly Address[],
): LookupTableInstruction | undefined {
  const roles = named(accounts, 'table', 'authority', 'payer');
  if (!roles) return undefined;
  const { table, authority, payer } = roles;
  return { program: 'lookupTable', name, table, authority, payer };
}
