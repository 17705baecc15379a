/** Transactions in the encodings that clients ask for. */
import { decodeBase58, encodeBase58 } from '@coffer/kernel';
import { parseJson } from '../json.ts';
import type { TransactionRecord } from '../ledger/store.ts';
import { isSigner, isWritable, type Message, readTransaction, type WireTransaction } from '../wire.ts';
import { versionUnsupported } from './errors.ts';
import type { Encoding } from './params.ts';
import { parsedInstruction } from './parsedInstruction.ts';

/** As it was stored; see `ledger/meta.ts`. */
interface Meta extends Readonly<Record<MetaMember, unknown>> {
  readonly innerInstructions: readonly { readonly index: number; readonly instructions: readonly Inner[] }[];
  readonly loadedAddresses: { readonly writable: readonly string[]; readonly readonly: readonly string[] };
}

type MetaMember =
  | 'err'
  | 'logMessages'
  | 'status'
  | 'fee'
  | 'preBalances'
  | 'postBalances'
  | 'preTokenBalances'
  | 'postTokenBalances';

interface Inner {
  readonly programIdIndex: number;
  readonly accounts: readonly number[];
  readonly data: string;
  readonly stackHeight: number;
}

/** Read from what is stored. */
export interface RecordedTransaction {
  readonly wire: WireTransaction;
  readonly meta: Meta;
  /** All accounts that it names. */
  readonly accounts: readonly string[];
}

export function recordedTransaction(record: Pick<TransactionRecord, 'wire' | 'meta'>): RecordedTransaction {
  const wire = readTransaction(record.wire);
  // Written by `metaOf` in this shape.
  const meta = parseJson(record.meta) as Meta;
  const { writable, readonly } = meta.loadedAddresses;
  return { wire, meta, accounts: [...wire.message.staticKeys, ...writable, ...readonly] };
}

/** Returns whether the version is shown at all. Throws if the caller does not know it. */
export function assertVersion({ wire }: RecordedTransaction, newest: number | null | undefined): boolean {
  const isAsked = typeof newest === 'number';
  if (wire.message.version === 0 && !isAsked) throw versionUnsupported(0);
  return isAsked;
}

export function transactionInBlock(recorded: RecordedTransaction, encoding: Encoding, withVersion: boolean) {
  const { wire, meta, accounts } = recorded;
  return {
    transaction: encodedTransaction(wire, accounts, encoding),
    meta: encoding === 'jsonParsed' ? parsedMeta(meta, accounts) : meta,
    ...(withVersion && { version: wire.message.version }),
  };
}

/** The accounts that were named, and how their balances changed. */
export function accountsOnlyJson({ wire, meta, accounts }: RecordedTransaction, withVersion: boolean) {
  const { err, status, fee, preBalances, postBalances, preTokenBalances, postTokenBalances } = meta;
  return {
    transaction: {
      signatures: wire.signatures.map(encodeBase58),
      accountKeys: parsedKeys(wire.message, accounts),
    },
    meta: { err, status, fee, preBalances, postBalances, preTokenBalances, postTokenBalances },
    ...(withVersion && { version: wire.message.version }),
  };
}

function encodedTransaction(wire: WireTransaction, accounts: readonly string[], encoding: Encoding): unknown {
  const { bytes, message } = wire;
  if (encoding === 'base64') return [Buffer.from(bytes).toString('base64'), 'base64'];
  if (encoding === 'base58') return [encodeBase58(bytes), 'base58'];
  if (encoding === 'binary') return encodeBase58(bytes);
  return {
    signatures: wire.signatures.map(encodeBase58),
    message: encoding === 'jsonParsed' ? parsedMessage(message, accounts) : messageJson(message),
  };
}

function messageJson(message: Message) {
  return {
    header: {
      numRequiredSignatures: message.requiredSignatures,
      numReadonlySignedAccounts: message.readonlySigned,
      numReadonlyUnsignedAccounts: message.readonlyUnsigned,
    },
    accountKeys: message.staticKeys,
    recentBlockhash: message.recentBlockhash,
    instructions: message.instructions.map(({ programIndex, accounts, data }) => ({
      programIdIndex: programIndex,
      accounts,
      data: encodeBase58(data),
      stackHeight: 1,
    })),
    ...lookupsJson(message),
  };
}

function lookupsJson({ version, lookups }: Message) {
  if (version === 'legacy') return {};
  return {
    addressTableLookups: lookups.map(({ table, writable, readonly }) => ({
      accountKey: table,
      writableIndexes: writable,
      readonlyIndexes: readonly,
    })),
  };
}

function parsedMessage(message: Message, accounts: readonly string[]) {
  return {
    accountKeys: parsedKeys(message, accounts),
    recentBlockhash: message.recentBlockhash,
    instructions: message.instructions.map(({ programIndex, ...instruction }) =>
      decodedInstruction({ ...instruction, programIdIndex: programIndex, stackHeight: 1 }, accounts),
    ),
    ...lookupsJson(message),
  };
}

function parsedKeys(message: Message, accounts: readonly string[]) {
  return accounts.map((pubkey, index) => ({
    pubkey,
    signer: isSigner(message, index),
    writable: isWritable(message, index),
    source: index < message.staticKeys.length ? 'transaction' : 'lookupTable',
  }));
}

interface Decodable {
  readonly programIdIndex: number;
  readonly accounts: readonly number[];
  readonly data: Uint8Array;
  readonly stackHeight: number;
}

function decodedInstruction(
  { programIdIndex, accounts, data, stackHeight }: Decodable,
  all: readonly string[],
) {
  const address = (index: number) => {
    const found = all[index];
    if (found === undefined) throw new RangeError(`account ${index} is not there`);
    return found;
  };
  const named = { program: address(programIdIndex), accounts: accounts.map(address) };
  const parsed = parsedInstruction({ ...named, data });
  if (parsed) return { ...parsed, stackHeight };
  return { programId: named.program, accounts: named.accounts, data: encodeBase58(data), stackHeight };
}

function parsedMeta({ loadedAddresses: _, ...meta }: Meta, accounts: readonly string[]) {
  return {
    ...meta,
    innerInstructions: meta.innerInstructions.map(({ index, instructions }) => ({
      index,
      instructions: instructions.map((inner) =>
        decodedInstruction({ ...inner, data: decodeBase58(inner.data) ?? new Uint8Array() }, accounts),
      ),
    })),
  };
}
