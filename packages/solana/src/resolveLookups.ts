/** A transaction with all its accounts, including those from lookup tables. */
import { encodeBase58 } from '@coffer/kernel';
import type { Address, Chain, ChainAccount } from './port.ts';
import { LOOKUP_TABLE_PROGRAM } from './programs/inspectedIds.ts';
import {
  type DecodedTransaction,
  hasDuplicates,
  type TableLookup,
  TransactionFormatError,
} from './web3/decodeTransaction.ts';

interface ResolvedAccount {
  readonly address: Address;
  readonly isSigner: boolean;
  readonly isWritable: boolean;
  readonly fromLookup: boolean;
}

interface ResolvedInstruction {
  readonly programId: Address;
  readonly accounts: readonly ResolvedAccount[];
  readonly data: Uint8Array;
}

export interface ResolvedTransaction {
  readonly decoded: DecodedTransaction;
  readonly accounts: readonly ResolvedAccount[];
  readonly instructions: readonly ResolvedInstruction[];
}

/**
 * Reads the tables from the chain, at commitment `finalized`. An entry of such a table never changes: tables are only
 * appended to, and a closed table can never exist again at the same address. So one read is enough. Throws a
 * `TransactionFormatError`, or a `ChainUnreachableError`.
 */
export async function resolveLookups(
  chain: Pick<Chain, 'accounts'>,
  decoded: DecodedTransaction,
): Promise<ResolvedTransaction> {
  const tables = await tablesOf(chain, decoded.lookups);
  const writable = tables.flatMap((table) => table.writable);
  const readonly = tables.flatMap((table) => table.readonly);
  const named = [...decoded.staticKeys, ...writable, ...readonly];
  if (hasDuplicates(named)) throw new TransactionFormatError('duplicate_account');

  const accounts = [
    ...decoded.staticKeys.map((address, index) => staticAccount(decoded, address, index)),
    ...writable.map((address) => ({ address, isSigner: false, isWritable: true, fromLookup: true })),
    ...readonly.map((address) => ({ address, isSigner: false, isWritable: false, fromLookup: true })),
  ];
  const instructions = decoded.instructions.map(({ programId, accounts: indexes, data }) => ({
    programId,
    accounts: indexes.map((index) => accountAt(accounts, index)),
    data,
  }));
  return { decoded, accounts, instructions };
}

/** The accounts that a transaction takes from one table. */
interface Picked {
  readonly writable: readonly Address[];
  readonly readonly: readonly Address[];
}

async function tablesOf(
  chain: Pick<Chain, 'accounts'>,
  lookups: readonly TableLookup[],
): Promise<readonly Picked[]> {
  if (lookups.length === 0) return [];
  const found = await pickedAt(chain, lookups, 'finalized');
  if (found) return found;
  // A table created or extended seconds ago will be usable soon: a caller who comes early is not refused for good.
  const isSoonThere = await pickedAt(chain, lookups, 'confirmed');
  throw new TransactionFormatError(isSoonThere ? 'lookup_table_not_final' : 'lookup_table');
}

/** Undefined if a table does not exist, cannot be used or is too short. */
async function pickedAt(
  chain: Pick<Chain, 'accounts'>,
  lookups: readonly TableLookup[],
  commitment: 'finalized' | 'confirmed',
): Promise<readonly Picked[] | undefined> {
  const accounts = await chain.accounts(
    lookups.map(({ table }) => table),
    commitment,
  );
  const all = lookups.map((lookup, index): Picked | undefined => {
    const addresses = addressesIn(accounts[index]);
    const writable = addresses && picked(addresses, lookup.writable);
    const readonly = addresses && picked(addresses, lookup.readonly);
    return writable && readonly && { writable, readonly };
  });
  const usable = all.filter((one) => one !== undefined);
  return usable.length === all.length ? usable : undefined;
}

const TABLE = 1;
const TABLE_HEADER_BYTES = 56;
const ADDRESS_BYTES = 32;
/** The value for a table that is not deactivated. */
const NEVER = 2n ** 64n - 1n;

function addressesIn(account: ChainAccount | undefined): readonly Address[] | undefined {
  const data = Buffer.from(account?.data ?? []);
  if (account?.owner !== LOOKUP_TABLE_PROGRAM || data.length < TABLE_HEADER_BYTES) return undefined;
  const addresses = data.subarray(TABLE_HEADER_BYTES);
  const isUsable = data.readUInt32LE(0) === TABLE && data.readBigUInt64LE(4) === NEVER;
  if (!isUsable || addresses.length % ADDRESS_BYTES !== 0) return undefined;
  return Array.from({ length: addresses.length / ADDRESS_BYTES }, (_, index) =>
    encodeBase58(addresses.subarray(index * ADDRESS_BYTES, (index + 1) * ADDRESS_BYTES)),
  );
}

function picked(addresses: readonly Address[], indexes: readonly number[]): readonly Address[] | undefined {
  const found = indexes.flatMap((index) => addresses[index] ?? []);
  return found.length === indexes.length ? found : undefined;
}

/** The header tells how many of the signers, and of the others, are last and read-only. */
function staticAccount(
  { header, staticKeys }: DecodedTransaction,
  address: Address,
  index: number,
): ResolvedAccount {
  const isSigner = index < header.requiredSignatures;
  const firstReadonly = isSigner
    ? header.requiredSignatures - header.readonlySigned
    : staticKeys.length - header.readonlyUnsigned;
  return { address, isSigner, isWritable: index < firstReadonly, fromLookup: false };
}

function accountAt(accounts: readonly ResolvedAccount[], index: number): ResolvedAccount {
  const account = accounts[index];
  if (!account) throw new TransactionFormatError('account_index');
  return account;
}
