/** Transactions in the encodings that clients ask for. */
import { encodeBase58 } from '@coffer/kernel';
import { parseJson } from '../json.ts';
import type { TransactionRecord } from '../ledger/store.ts';
import {
  type Instruction,
  isSigner,
  isWritable,
  type Message,
  readTransaction,
  type WireTransaction,
} from '../wire.ts';
import { versionUnsupported } from './errors.ts';
import type { Encoding } from './params.ts';

/** As it was kept, see `ledger/meta.ts`. */
interface Meta extends Readonly<Record<BalanceMember, unknown>> {
  readonly innerInstructions: readonly { readonly index: number; readonly instructions: readonly Inner[] }[];
  readonly loadedAddresses: { readonly writable: readonly string[]; readonly readonly: readonly string[] };
}

type BalanceMember =
  | 'err'
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

/** Read from what is kept. */
export interface RecordedTransaction {
  readonly wire: WireTransaction;
  readonly meta: Meta;
  /** All that it names. */
  readonly accounts: readonly string[];
}

export function recordedTransaction(record: Pick<TransactionRecord, 'wire' | 'meta'>): RecordedTransaction {
  const wire = readTransaction(record.wire);
  // Written by `metaOf` in this shape.
  const meta = parseJson(record.meta) as Meta;
  const { writable, readonly } = meta.loadedAddresses;
  return { wire, meta, accounts: [...wire.message.staticKeys, ...writable, ...readonly] };
}

/** Returns whether the version is told at all. Throws where the caller does not know it. */
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

/** Who was named, and what it did to their balances. */
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
    instructions: message.instructions.map((instruction) => decodedInstruction(instruction, accounts)),
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

function decodedInstruction({ programIndex, accounts, data }: Instruction, all: readonly string[]) {
  return {
    programId: all[programIndex],
    accounts: accounts.map((index) => all[index]),
    data: encodeBase58(data),
    stackHeight: 1,
  };
}

function parsedMeta({ loadedAddresses: _, ...meta }: Meta, accounts: readonly string[]) {
  return {
    ...meta,
    innerInstructions: meta.innerInstructions.map(({ index, instructions }) => ({
      index,
      instructions: instructions.map((inner) => ({
        programId: accounts[inner.programIdIndex],
        accounts: inner.accounts.map((at) => accounts[at]),
        data: inner.data,
        stackHeight: inner.stackHeight,
      })),
    })),
  };
}
