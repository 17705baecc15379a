/**
 * The hash chain over the log: each event's hash covers the hash before it, so that nothing can be changed,
 * removed or inserted without changing every later hash. The encoding must never change: heads that auditors
 * have noted depend on it. docs/operating/auditing.md gives it for other languages.
 */
import { hash } from 'node:crypto';
import { UUID_BYTES, writeUuid } from '@coffer/database';
import { EncodedEvent, type StreamEvent } from '@coffer/event-store';

export const HASH_BYTES = 32;
const ID_OFFSET = HASH_BYTES + 8 + 8;
const FIXED_BYTES = ID_OFFSET + UUID_BYTES;

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
  // As a buffer from the start it would have memory of its own, which costs as much as the hash.
  return Buffer.from(digestOf(previous, 0, ordinal, event), 'latin1');
}

/** Whether it is the hash of the event in this place. */
export const isEntryHash = (
  hash: Buffer,
  previous: Uint8Array,
  ordinal: Ordinal,
  event: StreamEvent,
): boolean => digestOf(previous, 0, ordinal, event) === hash.toString('latin1');

/** Whether the hash at this index, which is not 0, of hashes one behind the other is that of the event in this place. */
export function isEntryHashIn(hashes: Buffer, index: number, ordinal: Ordinal, event: StreamEvent): boolean {
  const at = index * HASH_BYTES;
  return digestOf(hashes, at - HASH_BYTES, ordinal, event) === hashes.toString('latin1', at, at + HASH_BYTES);
}

/** A character is a byte. */
function digestOf(previous: Uint8Array, previousAt: number, ordinal: Ordinal, event: StreamEvent): string {
  const { input, length } = EncodedEvent.bytesOf(event) > 0 ? inputAsStored(event) : inputOfTexts(event);
  // A hash of another length comes from a block that was tampered with. A view of the bytes would cost more than the loop.
  for (let byte = 0; byte < HASH_BYTES; byte++) input[byte] = previous[previousAt + byte] ?? 0;
  writeUInt64(input, ordinal, HASH_BYTES);
  writeUInt64(input, event.revision, HASH_BYTES + 8);
  return hash('sha256', firstOf(input, length), 'binary');
}

/** What is hashed; all but what is before the id. */
interface HashInput {
  readonly input: Buffer;
  readonly length: number;
}

/** Used for one event after the other. */
const INPUT = Buffer.alloc(16 * 1024);
/** By length: most events are as long as others. */
const VIEWS: Buffer[] = [];
const MOST_BYTES_OF_VIEWS = 2_000;

function firstOf(input: Buffer, length: number): Buffer {
  if (input !== INPUT || length > MOST_BYTES_OF_VIEWS) return input.subarray(0, length);
  VIEWS[length] ??= input.subarray(0, length);
  return VIEWS[length];
}

const inputOf = (bytes: number): Buffer => (bytes <= INPUT.length ? INPUT : Buffer.allocUnsafe(bytes));

function inputAsStored(event: StreamEvent): HashInput {
  const length = ID_OFFSET + EncodedEvent.bytesOf(event);
  const input = inputOf(length);
  EncodedEvent.copyBytes(event, input, ID_OFFSET);
  return { input, length };
}

/** Room for the length of a text. */
const GAP = '\0\0\0\0';
/** In UTF-8: a buffer with this much to spare is never full before a text that is longer in bytes than in characters shows. */
const LONGEST_CHARACTER = 4;

function inputOfTexts(event: StreamEvent): HashInput {
  const { stream, type, data, metadata } = event;
  // Each write into a buffer costs more than copying the texts, so they are written together, with room for their lengths.
  const texts = `${GAP}${stream}${GAP}${type}${GAP}${data}${GAP}${metadata}`;
  const input = inputOf(FIXED_BYTES + texts.length + LONGEST_CHARACTER);
  const bytes = input.write(texts, FIXED_BYTES, texts.length + LONGEST_CHARACTER);
  // A single character of more than one byte would have made it longer.
  if (bytes !== texts.length) return inputOfAnyTexts(event);
  writeUuid(input, ID_OFFSET, event.id);
  let offset = input.writeUInt32BE(stream.length, FIXED_BYTES);
  offset = input.writeUInt32BE(type.length, offset + stream.length);
  offset = input.writeUInt32BE(data.length, offset + type.length);
  input.writeUInt32BE(metadata.length, offset + data.length);
  return { input, length: FIXED_BYTES + bytes };
}

function inputOfAnyTexts(event: StreamEvent): HashInput {
  const { stream, type, data, metadata } = event;
  const texts = [stream, type, data, metadata].map((text) => ({ text, bytes: Buffer.byteLength(text) }));
  const length = texts.reduce((sum, { bytes }) => sum + 4 + bytes, FIXED_BYTES);
  const input = inputOf(length);
  writeUuid(input, ID_OFFSET, event.id);
  let offset = FIXED_BYTES;
  for (const { text, bytes } of texts) {
    offset = input.writeUInt32BE(bytes, offset);
    offset += input.write(text, offset, bytes, 'utf8');
  }
  return { input, length };
}

function writeUInt64(buffer: Buffer, value: number, offset: number): void {
  buffer.writeUInt32BE(Math.floor(value / 2 ** 32), offset);
  buffer.writeUInt32BE(value % 2 ** 32, offset + 4);
}

/** The bytes of UUIDs, one behind the other. */
export function idBytes(ids: readonly string[]): Buffer {
  const bytes = Buffer.alloc(ids.length * UUID_BYTES);
  // By callback: of what `for ... of` makes here, much became old before it was collected. ADR 0045.
  ids.forEach((id, index) => {
    writeUuid(bytes, index * UUID_BYTES, id);
  });
  return bytes;
}

/** The canonical text of a UUID's bytes. */
export const idText = (bytes: Buffer): string => idIn(bytes.toString('hex'), 0);

/** The canonical text of the UUID at this place in a row of UUIDs in hexadecimal. */
export function idIn(hex: string, place: number): string {
  const from = place * UUID_BYTES * 2;
  const part = (start: number, end: number) => hex.slice(from + start, from + end);
  return `${part(0, 8)}-${part(8, 12)}-${part(12, 16)}-${part(16, 20)}-${part(20, 32)}`;
}

/** Whether the UUID at this place in a row of them is this one, in its canonical text. */
export function isIdIn(hex: string, place: number, id: string): boolean {
  let at = place * UUID_BYTES * 2;
  for (let index = 0; index < id.length; index++) {
    const character = id.charCodeAt(index);
    if (character === DASH && DASH_PLACES.has(index)) continue;
    if (hex.charCodeAt(at) !== character) return false;
    at += 1;
  }
  return id.length === ID_CHARACTERS && at === (place + 1) * UUID_BYTES * 2;
}

const ID_CHARACTERS = 36;
const DASH = '-'.charCodeAt(0);
const DASH_PLACES: ReadonlySet<number> = new Set([8, 13, 18, 23]);
