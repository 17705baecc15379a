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
import type { Encoding } from './params.ts';

/** As it was kept, see `ledger/meta.ts`. */
interface Meta {
  readonly innerInstructions: readonly { readonly index: number; readonly instructions: readonly Inner[] }[];
  readonly loadedAddresses: { readonly writable: readonly string[]; readonly readonly: readonly string[] };
}

interface Inner {
  readonly programIdIndex: number;
  readonly accounts: readonly number[];
  readonly data: string;
  readonly stackHeight: number;
}

export function transactionJson(record: TransactionRecord, encoding: Encoding, withVersion: boolean) {
  const wire = readTransaction(record.wire);
  // Written by `metaOf` in this shape.
  const meta = parseJson(record.meta) as Meta;
  const { message } = wire;
  const accounts = [
    ...message.staticKeys,
    ...meta.loadedAddresses.writable,
    ...meta.loadedAddresses.readonly,
  ];
  return {
    slot: record.slot,
    blockTime: record.blockTimeSeconds,
    transaction: encodedTransaction(wire, accounts, encoding),
    meta: encoding === 'jsonParsed' ? parsedMeta(meta, accounts) : meta,
    ...(withVersion && { version: message.version }),
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
    accountKeys: accounts.map((pubkey, index) => ({
      pubkey,
      signer: isSigner(message, index),
      writable: isWritable(message, index),
      source: index < message.staticKeys.length ? 'transaction' : 'lookupTable',
    })),
    recentBlockhash: message.recentBlockhash,
    instructions: message.instructions.map((instruction) => decodedInstruction(instruction, accounts)),
    ...lookupsJson(message),
  };
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
