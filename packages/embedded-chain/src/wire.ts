/**
 * A transaction on the wire. Read more strictly than the virtual machine requires: bytes that it cannot read end the
 * process, so nothing reaches it that was not read here first.
 */
import { encodeBase58 } from '@coffer/kernel';

/** What fits a packet of the network. */
export const MAXIMUM_TRANSACTION_BYTES = 1232;
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

interface Instruction {
  readonly programIndex: number;
  readonly accounts: readonly number[];
  readonly data: Uint8Array;
}

/** Accounts that the message names by their place in a lookup table. */
export interface Lookup {
  readonly table: string;
  readonly writable: readonly number[];
  readonly readonly: readonly number[];
}

export interface Message {
  readonly bytes: Uint8Array;
  readonly version: 'legacy' | 0;
  readonly requiredSignatures: number;
  readonly readonlySigned: number;
  readonly readonlyUnsigned: number;
  readonly staticKeys: readonly string[];
  readonly recentBlockhash: string;
  readonly instructions: readonly Instruction[];
  readonly lookups: readonly Lookup[];
}

export interface WireTransaction {
  readonly bytes: Uint8Array;
  /** The fee payer's signature, in base58: its id. */
  readonly signature: string;
  readonly signatures: readonly Uint8Array[];
  readonly message: Message;
}

/** The bytes are not a transaction that the chain accepts. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

export function readTransaction(bytes: Uint8Array): WireTransaction {
  if (bytes.length > MAXIMUM_TRANSACTION_BYTES) {
    throw new WireError(`transaction too large: ${bytes.length} bytes (max: ${MAXIMUM_TRANSACTION_BYTES})`);
  }
  const reader = new Reader(bytes);
  const signatures = reader.list(() => reader.take(SIGNATURE_BYTES));
  const message = readMessage(reader.rest());
  const [first] = signatures;
  if (!first || signatures.length !== message.requiredSignatures) {
    throw new WireError(`has ${signatures.length} signatures, not ${message.requiredSignatures}`);
  }
  return { bytes, signature: encodeBase58(first), signatures, message };
}

export function readMessage(bytes: Uint8Array): Message {
  const reader = new Reader(bytes);
  const first = reader.byte();
  const isVersioned = first >= 0x80;
  if (isVersioned && first !== 0x80) throw new WireError(`message version ${first - 0x80} is not supported`);
  const message: Message = {
    bytes,
    version: isVersioned ? 0 : 'legacy',
    requiredSignatures: isVersioned ? reader.byte() : first,
    readonlySigned: reader.byte(),
    readonlyUnsigned: reader.byte(),
    staticKeys: reader.list(() => encodeBase58(reader.take(KEY_BYTES))),
    recentBlockhash: encodeBase58(reader.take(KEY_BYTES)),
    instructions: reader.list(() => ({
      programIndex: reader.byte(),
      accounts: reader.list(() => reader.byte()),
      data: reader.bytes(),
    })),
    lookups: isVersioned
      ? reader.list(() => ({
          table: encodeBase58(reader.take(KEY_BYTES)),
          writable: reader.list(() => reader.byte()),
          readonly: reader.list(() => reader.byte()),
        }))
      : [],
  };
  reader.end();
  assertConsistent(message);
  return message;
}

function assertConsistent(message: Message): void {
  const { requiredSignatures, readonlySigned, readonlyUnsigned, staticKeys, instructions } = message;
  const total = accountCountOf(message);
  if (requiredSignatures === 0 || readonlySigned >= requiredSignatures) {
    throw new WireError('has no writable signer');
  }
  if (requiredSignatures + readonlyUnsigned > staticKeys.length)
    throw new WireError('names too few accounts');
  if (new Set(staticKeys).size !== staticKeys.length) throw new WireError('names an account twice');
  if (total > 256) throw new WireError('names too many accounts');
  if (message.lookups.some((lookup) => lookup.writable.length + lookup.readonly.length === 0)) {
    throw new WireError('names a lookup table for nothing');
  }
  for (const { programIndex, accounts } of instructions) {
    if (programIndex === 0 || programIndex >= staticKeys.length) throw new WireError('names no program');
    if (accounts.some((index) => index >= total)) throw new WireError('names an account that is not there');
  }
}

function accountCountOf(message: Message): number {
  const looked = message.lookups.map((lookup) => lookup.writable.length + lookup.readonly.length);
  return looked.reduce((sum, count) => sum + count, message.staticKeys.length);
}

export const isSigner = (message: Message, index: number) => index < message.requiredSignatures;

/** Whether the message asks to write the account; `index` counts static keys, then looked-up ones. */
export function isWritable(message: Message, index: number): boolean {
  const { requiredSignatures, readonlySigned, readonlyUnsigned, staticKeys } = message;
  if (index < requiredSignatures) return index < requiredSignatures - readonlySigned;
  if (index < staticKeys.length) return index < staticKeys.length - readonlyUnsigned;
  const writable = message.lookups.reduce((sum, lookup) => sum + lookup.writable.length, 0);
  return index < staticKeys.length + writable;
}

class Reader {
  #at = 0;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  take(count: number): Uint8Array {
    if (this.#at + count > this.#bytes.length) throw new WireError('ends too early');
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }

  byte(): number {
    const [value] = this.take(1);
    if (value === undefined) throw new WireError('ends too early');
    return value;
  }

  /** One to three bytes of seven bits each, without superfluous ones. */
  length(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (shift > 0 && byte === 0) throw new WireError('has a length with needless bytes');
      if (value > 0xffff) throw new WireError('has a length that is too large');
      if (byte < 0x80) return value;
    }
  }

  list<T>(item: () => T): readonly T[] {
    const count = this.length();
    const items: T[] = [];
    while (items.length < count) items.push(item());
    return items;
  }

  bytes(): Uint8Array {
    return this.take(this.length());
  }

  rest(): Uint8Array {
    return this.take(this.#bytes.length - this.#at);
  }

  end(): void {
    if (this.#at < this.#bytes.length) throw new WireError('has bytes after its end');
  }
}
