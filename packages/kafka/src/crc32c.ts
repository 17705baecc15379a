/** CRC-32C (Castagnoli), which Kafka wants over every batch: eight bytes at a time, by tables. */

const POLYNOMIAL = 0x82f63b78;

/** For each byte, what it does to the sum with none to seven bytes after it. */
const TABLES = new Int32Array(8 * 256);
for (let byte = 0; byte < 256; byte++) {
  let sum = byte;
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ POLYNOMIAL : sum >>> 1;
  TABLES[byte] = sum;
}
for (let index = 256; index < TABLES.length; index++) {
  const sum = TABLES[index - 256] ?? 0;
  TABLES[index] = (sum >>> 8) ^ (TABLES[sum & 0xff] ?? 0);
}

export function crc32c(bytes: Uint8Array): number {
  const after = (following: number, byte: number): number => TABLES[(following << 8) | byte] ?? 0;
  const at = (index: number): number => bytes[index] ?? 0;
  const inEights = bytes.length & ~7;
  let sum = -1;
  for (let index = 0; index < inEights; index += 8) {
    const first = sum ^ (at(index) | (at(index + 1) << 8) | (at(index + 2) << 16) | (at(index + 3) << 24));
    sum =
      after(7, first & 0xff) ^
      after(6, (first >>> 8) & 0xff) ^
      after(5, (first >>> 16) & 0xff) ^
      after(4, first >>> 24) ^
      after(3, at(index + 4)) ^
      after(2, at(index + 5)) ^
      after(1, at(index + 6)) ^
      after(0, at(index + 7));
  }
  for (let index = inEights; index < bytes.length; index++)
    sum = (sum >>> 8) ^ after(0, (sum ^ at(index)) & 0xff);
  return ~sum >>> 0;
}
