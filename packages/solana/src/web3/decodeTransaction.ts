/**
 * Decodes a transaction down to its last byte. A signer must read what the cluster reads: so the bytes are
 * decoded, written again and compared, and whatever a runtime would not accept is refused here.
 */
import type { MessageAddressTableLookup, MessageHeader, VersionedTransaction } from '@solana/web3.js';
import type { Address } from '../port.ts';
import { MAX_TRANSACTION_BYTES } from './buildTransfer.ts';
import { web3 } from './web3.ts';

/** The runtime accepts no transaction that names more. */
const MAX_TRANSACTION_ACCOUNTS = 64;

/** Why the bytes are not a transaction that we can read. */
export type TransactionFault =
  | 'size'
  | 'unsupported_version'
  | 'malformed'
  | 'not_canonical'
  | 'signature_count'
  | 'header'
  | 'duplicate_account'
  | 'too_many_accounts'
  | 'account_index'
  | 'lookup_table'
  | 'lookup_table_not_final';

export class TransactionFormatError extends Error {
  override readonly name = 'TransactionFormatError';
  readonly fault: TransactionFault;

  constructor(fault: TransactionFault) {
    super(`The bytes are not a readable transaction: ${fault}.`);
    this.fault = fault;
  }
}

export interface TableLookup {
  readonly table: Address;
  readonly writable: readonly number[];
  readonly readonly: readonly number[];
}

interface CompiledInstruction {
  readonly programId: Address;
  /**
   * Indexes into the static keys, then the writable looked-up ones of all tables, then the read-only ones.
   */
  readonly accounts: readonly number[];
  readonly data: Uint8Array;
}

export interface DecodedTransaction {
  readonly version: 'legacy' | 0;
  readonly wire: Uint8Array;
  /** The bytes to sign. */
  readonly message: Uint8Array;
  /** 64 bytes each, in the order of the signing keys; zeros for signatures that are still missing. */
  readonly signatures: readonly Uint8Array[];
  readonly header: {
    readonly requiredSignatures: number;
    readonly readonlySigned: number;
    readonly readonlyUnsigned: number;
  };
  readonly staticKeys: readonly Address[];
  readonly recentBlockhash: string;
  readonly lookups: readonly TableLookup[];
  readonly instructions: readonly CompiledInstruction[];
}

const SIGNATURE_BYTES = 64;
/** A first byte with this bit set is a message version; otherwise it counts signatures. */
const VERSION_BIT = 0x80;

/**
 * Throws a `TransactionFormatError`, and nothing else, for bytes that are not a legacy or version 0
 * transaction.
 */
export function decodeTransaction(wire: Uint8Array): DecodedTransaction {
  // Larger ones exist from version 1 on, which cannot be read here yet.
  if (wire.length === 0 || wire.length > MAX_TRANSACTION_BYTES) throw new TransactionFormatError('size');
  const messageAt = startOfMessage(wire);
  const bytes = Uint8Array.from(wire);
  const transaction = parsed(bytes);
  const { header, staticAccountKeys, compiledInstructions, addressTableLookups, recentBlockhash, version } =
    transaction.message;

  const staticKeys = staticAccountKeys.map((key) => key.toBase58());
  checkHeader(header, staticKeys.length);
  checkAccounts(staticKeys, addressTableLookups);
  const total = staticKeys.length + lookedUp(addressTableLookups);
  const instructions = compiledInstructions.map(({ programIdIndex, accountKeyIndexes, data }) => {
    const programId = staticKeys[programIdIndex];
    // A program is never looked up, and never pays: the runtime refuses both.
    if (programId === undefined || programIdIndex === 0) throw new TransactionFormatError('account_index');
    if (accountKeyIndexes.some((index) => index >= total)) throw new TransactionFormatError('account_index');
    return { programId, accounts: [...accountKeyIndexes], data: Uint8Array.from(data) };
  });

  return {
    version,
    wire: bytes,
    message: bytes.slice(messageAt),
    signatures: transaction.signatures.map((signature) => Uint8Array.from(signature)),
    header: {
      requiredSignatures: header.numRequiredSignatures,
      readonlySigned: header.numReadonlySignedAccounts,
      readonlyUnsigned: header.numReadonlyUnsignedAccounts,
    },
    staticKeys,
    recentBlockhash,
    lookups: addressTableLookups.map(({ accountKey, writableIndexes, readonlyIndexes }) => ({
      table: accountKey.toBase58(),
      writable: [...writableIndexes],
      readonly: [...readonlyIndexes],
    })),
    instructions,
  };
}

export function withSignature(
  { wire, staticKeys, header }: DecodedTransaction,
  signer: Address,
  signature: Uint8Array,
): Uint8Array {
  const place = staticKeys.slice(0, header.requiredSignatures).indexOf(signer);
  if (place < 0 || signature.length !== SIGNATURE_BYTES) throw new Error('The signature has no place here.');
  const signed = Uint8Array.from(wire);
  signed.set(signature, 1 + place * SIGNATURE_BYTES);
  return signed;
}

/**
 * The offset after the signatures. Their number is one byte: a packet has no room for 128 of them, so a first
 * byte with the high bit set is either padded or the version of a format that puts its version first.
 */
function startOfMessage(wire: Uint8Array): number {
  const signatures = wire[0] ?? 0;
  if (signatures & VERSION_BIT) throw new TransactionFormatError('unsupported_version');
  const start = 1 + signatures * SIGNATURE_BYTES;
  const first = wire[start];
  if (first === undefined) throw new TransactionFormatError('malformed');
  // 0xff, the first byte of a signed off-chain message, is such a version: a signed message is never a transaction.
  if (first & VERSION_BIT && first !== VERSION_BIT) throw new TransactionFormatError('unsupported_version');
  const required = first === VERSION_BIT ? wire[start + 1] : first;
  if (required !== signatures) throw new TransactionFormatError('signature_count');
  return start;
}

function parsed(wire: Uint8Array): VersionedTransaction {
  let transaction: VersionedTransaction;
  let again: Uint8Array;
  try {
    transaction = web3().VersionedTransaction.deserialize(wire);
    again = transaction.serialize();
  } catch {
    throw new TransactionFormatError('malformed');
  }
  if (Buffer.compare(wire, again) !== 0) throw new TransactionFormatError('not_canonical');
  return transaction;
}

function checkHeader(
  {
    numRequiredSignatures: required,
    numReadonlySignedAccounts: readonlySigned,
    numReadonlyUnsignedAccounts: readonlyUnsigned,
  }: MessageHeader,
  keys: number,
): void {
  // The first key pays, so it signs and is writable.
  if (required === 0 || readonlySigned >= required) throw new TransactionFormatError('header');
  if (required + readonlyUnsigned > keys) throw new TransactionFormatError('header');
}

function checkAccounts(staticKeys: readonly Address[], lookups: readonly MessageAddressTableLookup[]): void {
  if (hasDuplicates(staticKeys)) throw new TransactionFormatError('duplicate_account');
  const isEmpty = ({ writableIndexes, readonlyIndexes }: MessageAddressTableLookup) =>
    writableIndexes.length + readonlyIndexes.length === 0;
  if (lookups.some(isEmpty)) throw new TransactionFormatError('lookup_table');
  if (staticKeys.length + lookedUp(lookups) > MAX_TRANSACTION_ACCOUNTS) {
    throw new TransactionFormatError('too_many_accounts');
  }
}

const lookedUp = (lookups: readonly MessageAddressTableLookup[]): number =>
  lookups.reduce((sum, one) => sum + one.writableIndexes.length + one.readonlyIndexes.length, 0);

export const hasDuplicates = (addresses: readonly Address[]): boolean =>
  new Set(addresses).size < addresses.length;
