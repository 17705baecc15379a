/**
 * Durable nonces: a transaction that names the value of a nonce account in place of a recent blockhash, and first
 * advances it, may be sent at any time, once.
 */
import { createHash } from 'node:crypto';
import { decodeBase58Address, encodeBase58 } from '@coffer/kernel';
import type { AccountState } from '../vm.ts';
import { isWritable, type Message } from '../wire.ts';

const SYSTEM_PROGRAM = '1'.repeat(32);
const ADVANCE_NONCE = 4;
const NONCE_BYTES = 80;
const CURRENT_VERSION = 1;
const INITIALIZED = 1;
const VALUE_AT = 40;
const VALUE_BYTES = 32;

export interface Nonce {
  readonly authority: string;
  readonly value: string;
  readonly lamportsPerSignature: bigint;
}

export function nonceOf(state: AccountState | undefined): Nonce | undefined {
  if (state?.owner !== SYSTEM_PROGRAM || state.data.length !== NONCE_BYTES) return undefined;
  const view = new DataView(state.data.buffer, state.data.byteOffset, state.data.byteLength);
  if (view.getUint32(0, true) !== CURRENT_VERSION || view.getUint32(4, true) !== INITIALIZED)
    return undefined;
  return {
    authority: encodeBase58(state.data.subarray(8, VALUE_AT)),
    value: encodeBase58(state.data.subarray(VALUE_AT, VALUE_AT + VALUE_BYTES)),
    lamportsPerSignature: view.getBigUint64(VALUE_AT + VALUE_BYTES, true),
  };
}

export function withNonce(state: AccountState, value: string): AccountState {
  const data = Buffer.from(state.data);
  data.set(bytesOf(value), VALUE_AT);
  return { ...state, data };
}

/** The next value of a nonce that is advanced in the block after the one with this hash. */
export function nextNonce(blockhash: string): string {
  return encodeBase58(createHash('sha256').update('DURABLE_NONCE').update(bytesOf(blockhash)).digest());
}

/** The account whose nonce replaces the blockhash, if it does and its authority has signed. */
export function nonceAccountOf(
  message: Message,
  account: (address: string) => AccountState | undefined,
): { readonly address: string; readonly nonce: Nonce } | undefined {
  const [first] = message.instructions;
  if (!first || message.staticKeys[first.programIndex] !== SYSTEM_PROGRAM) return undefined;
  const { data, accounts } = first;
  if (data.length < 4 || Buffer.from(data).readUInt32LE(0) !== ADVANCE_NONCE) return undefined;
  const [index] = accounts;
  const address = index === undefined ? undefined : message.staticKeys[index];
  if (index === undefined || !address || !isWritable(message, index)) return undefined;
  const nonce = nonceOf(account(address));
  if (nonce?.value !== message.recentBlockhash) return undefined;
  const hasSigned = accounts.some(
    (at) => at < message.requiredSignatures && message.staticKeys[at] === nonce.authority,
  );
  return hasSigned ? { address, nonce } : undefined;
}

function bytesOf(hash: string): Uint8Array {
  const bytes = decodeBase58Address(hash);
  if (!bytes) throw new TypeError(`${hash} is not a hash`);
  return bytes;
}
