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
  const { stream, type, data, metadata } = event;
  // Each write into a buffer costs more than copying the texts, so they are written together, with room for their lengths.
  const texts = `${GAP}${stream}${GAP}${type}${GAP}${data}${GAP}${metadata}`;
  const encoded = Buffer.allocUnsafe(FIXED_BYTES + texts.length + LONGEST_CHARACTER);
  const bytes = encoded.write(texts, FIXED_BYTES);
  // A single character of more than one byte would have made it longer.
  if (bytes !== texts.length) return hashOfAnyTexts(previous, ordinal, event);
  writeFixed(encoded, previous, ordinal, event);
  let offset = encoded.writeUInt32BE(stream.length, FIXED_BYTES);
  offset = encoded.writeUInt32BE(type.length, offset + stream.length);
  offset = encoded.writeUInt32BE(data.length, offset + type.length);
  encoded.writeUInt32BE(metadata.length, offset + data.length);
  return hash('sha256', encoded.subarray(0, FIXED_BYTES + bytes), 'buffer');
}

/** Room for the length of a text. */
const GAP = '\0\0\0\0';
/** In UTF-8: a buffer with this much to spare is never full before a text that is longer in bytes than in characters shows. */
const LONGEST_CHARACTER = 4;

function hashOfAnyTexts(previous: Uint8Array, ordinal: Ordinal, event: StreamEvent): Buffer {
  const { stream, type, data, metadata } = event;
  const texts = [stream, type, data, metadata].map((text) => ({ text, bytes: Buffer.byteLength(text) }));
  const total = texts.reduce((sum, { bytes }) => sum + 4 + bytes, FIXED_BYTES);
  const encoded = Buffer.allocUnsafe(total);
  writeFixed(encoded, previous, ordinal, event);
  let offset = FIXED_BYTES;
  for (const { text, bytes } of texts) {
    offset = encoded.writeUInt32BE(bytes, offset);
    offset += encoded.write(text, offset, bytes, 'utf8');
  }
  return hash('sha256', encoded, 'buffer');
}

function writeFixed(
  encoded: Buffer,
  previous: Uint8Array,
  ordinal: Ordinal,
  { revision, id }: StreamEvent,
): void {
  encoded.set(previous, 0);
  writeUInt64(encoded, ordinal, HASH_BYTES);
  writeUInt64(encoded, revision, HASH_BYTES + 8);
  const digits = id.replaceAll('-', '');
  const bytes = encoded.write(digits, HASH_BYTES + 16, ID_BYTES, 'hex');
  if (bytes !== ID_BYTES || digits.length !== 2 * ID_BYTES) throw new Error(`${id} is no UUID`);
}

function writeUInt64(buffer: Buffer, value: number, offset: number): void {
  buffer.writeUInt32BE(Math.floor(value / 2 ** 32), offset);
  buffer.writeUInt32BE(value % 2 ** 32, offset + 4);
}

/** The bytes of a UUID. */
export function idBytes(id: string): Buffer {
  const bytes = Buffer.from(id.replaceAll('-', ''), 'hex');
  assert.equal(bytes.length, ID_BYTES, `${id} is no UUID`);
  return bytes;
}

/** The canonical text of a UUID's bytes. */
export const idText = (bytes: Buffer): string => idIn(bytes.toString('hex'), 0);

/** The canonical text of the UUID at this place in a row of UUIDs in hexadecimal. */
export function idIn(hex: string, place: number): string {
  const from = place * ID_BYTES * 2;
  const part = (start: number, end: number) => hex.slice(from + start, from + end);
  return `${part(0, 8)}-${part(8, 12)}-${part(12, 16)}-${part(16, 20)}-${part(20, 32)}`;
}
