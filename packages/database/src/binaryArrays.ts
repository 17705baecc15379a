/**
 * One-dimensional arrays in Postgres's binary format. The driver would write text, and escaping every quote of
 * a batch of JSON costs more than the append. Layout: src/backend/utils/adt/arrayfuncs.c, `array_send`.
 */
import { UUID_BYTES, writeUuid } from './uuids.ts';

/** https://www.postgresql.org/docs/18/catalog-pg-type.html */
const OID = { bytea: 17, int4: 23, int8: 20, text: 25, uuid: 2950 } as const;
const HEADER_BYTES = 20;
const NULL_LENGTH = -1;

export function textArray(values: readonly (string | null)[]): Buffer {
  const all = values.join('');
  return Buffer.byteLength(all) === all.length ? asciiArray(values) : utf8Array(values);
}

/** Written at once, with the lengths as characters: less than half the time of a write for each text. */
function asciiArray(values: readonly (string | null)[]): Buffer {
  let elements = '';
  let hasNulls = false;
  for (const value of values) {
    hasNulls ||= value === null;
    elements += value === null ? ASCII_NULL : lengthInBytes(value.length) + value;
  }
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + elements.length);
  buffer.write(elements, writeHeader(buffer, OID.text, values.length, hasNulls), 'latin1');
  return buffer;
}

const lengthInBytes = (length: number): string =>
  SHORT_LENGTHS[length] ??
  String.fromCharCode(length >>> 24, (length >>> 16) & 0xff, (length >>> 8) & 0xff, length & 0xff);
const SHORT_LENGTHS = Array.from({ length: 256 }, (_, length) => String.fromCharCode(0, 0, 0, length));
const ASCII_NULL = '\xff\xff\xff\xff';

function utf8Array(values: readonly (string | null)[]): Buffer {
  let bytes = HEADER_BYTES;
  let hasNulls = false;
  const lengths = values.map((value) => (value === null ? NULL_LENGTH : Buffer.byteLength(value)));
  for (const length of lengths) {
    bytes += 4 + Math.max(0, length);
    hasNulls ||= length === NULL_LENGTH;
  }
  const buffer = Buffer.allocUnsafe(bytes);
  let offset = writeHeader(buffer, OID.text, values.length, hasNulls);
  values.forEach((value, index) => {
    const length = lengths[index] ?? 0;
    offset = buffer.writeInt32BE(length, offset);
    if (value !== null) offset += buffer.write(value, offset, length, 'utf8');
  });
  return buffer;
}

export function int4Array(values: readonly number[]): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + values.length * 8);
  let offset = writeHeader(buffer, OID.int4, values.length, false);
  for (const value of values) {
    offset = buffer.writeInt32BE(4, offset);
    offset = buffer.writeInt32BE(value, offset);
  }
  return buffer;
}

export function int8Array(values: readonly number[]): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + values.length * 12);
  let offset = writeHeader(buffer, OID.int8, values.length, false);
  for (const value of values) {
    offset = buffer.writeInt32BE(8, offset);
    offset = buffer.writeBigInt64BE(BigInt(value), offset);
  }
  return buffer;
}

export function byteaArray(values: readonly Uint8Array[]): Buffer {
  const parts = values.flatMap((value) => {
    const length = Buffer.allocUnsafe(4);
    length.writeInt32BE(value.length);
    return [length, value];
  });
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  writeHeader(header, OID.bytea, values.length, false);
  return Buffer.concat([header, ...parts]);
}

/** Each a UUID in its canonical text form, or null. */
export function uuidArray(values: readonly (string | null)[]): Buffer {
  const nulls = values.filter((value) => value === null).length;
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + values.length * 4 + (values.length - nulls) * UUID_BYTES);
  let offset = writeHeader(buffer, OID.uuid, values.length, nulls > 0);
  // By callback: of what `for ... of` makes here, much became old before it was collected. ADR 0045.
  values.forEach((value) => {
    if (value === null) {
      offset = buffer.writeInt32BE(NULL_LENGTH, offset);
    } else {
      offset = buffer.writeInt32BE(UUID_BYTES, offset);
      writeUuid(buffer, offset, value);
      offset += UUID_BYTES;
    }
  });
  return buffer;
}

function writeHeader(buffer: Buffer, elementOid: number, length: number, hasNulls: boolean): number {
  buffer.writeInt32BE(1, 0); // dimensions
  buffer.writeInt32BE(hasNulls ? 1 : 0, 4);
  buffer.writeInt32BE(elementOid, 8);
  buffer.writeInt32BE(length, 12);
  buffer.writeInt32BE(1, 16); // lower bound
  return HEADER_BYTES;
}
