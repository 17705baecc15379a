/**
 * The hash chain over the log: each event's hash covers the hash before it, so that nothing can be changed,
 * removed or inserted without changing every later hash. The encoding must never change: heads that auditors
 * have noted depend on it. docs/operating/auditing.md gives it for other languages.
 */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import type { StreamEvent } from '@coffer/event-store';

export const HASH_BYTES = 32;
const ID_BYTES = 16;
const FIXED_BYTES = HASH_BYTES + 8 + 8 + ID_BYTES;

/** The hash before the first event. */
export const GENESIS: Buffer = Buffer.alloc(HASH_BYTES);

/** The number of an event in the log, dense from 1: unlike a position, the same wherever the log is kept. */
export type Ordinal = number;

/**
 * SHA-256 over: the previous hash (32 bytes), the ordinal and the revision (8 bytes each, big-endian), the id
 * (its 16 bytes), and stream, type, data and metadata, each as its length in bytes (4, big-endian) followed
 * by its UTF-8 bytes.
 */
export function entryHash(previous: Uint8Array, ordinal: Ordinal, event: StreamEvent): Buffer {
  const { stream, revision, id, type, data, metadata } = event;
  const texts = [stream, type, data, metadata].map((text) => ({ text, bytes: Buffer.byteLength(text) }));
  const total = texts.reduce((sum, { bytes }) => sum + 4 + bytes, FIXED_BYTES);

  const encoded = Buffer.allocUnsafe(total);
  encoded.set(previous, 0);
  encoded.writeBigUInt64BE(BigInt(ordinal), HASH_BYTES);
  encoded.writeBigUInt64BE(BigInt(revision), HASH_BYTES + 8);
  encoded.set(idBytes(id), HASH_BYTES + 16);
  let offset = FIXED_BYTES;
  for (const { text, bytes } of texts) {
    offset = encoded.writeUInt32BE(bytes, offset);
    offset += encoded.write(text, offset, bytes, 'utf8');
  }
  return hash('sha256', encoded, 'buffer');
}

/** The bytes of a UUID. */
export function idBytes(id: string): Buffer {
  const bytes = Buffer.from(id.replaceAll('-', ''), 'hex');
  assert.equal(bytes.length, ID_BYTES, `${id} is no UUID`);
  return bytes;
}

/** The canonical text of a UUID's bytes. */
export function idText(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20, ID_BYTES * 2),
  ].join('-');
}
