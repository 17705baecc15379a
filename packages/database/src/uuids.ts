/** UUIDs as Postgres sends and takes them in binary, digit by digit: texts without the dashes would have to be made first. */

export const UUID_BYTES = 16;

const TEXT = Buffer.from('00000000-0000-0000-0000-000000000000');
/** Where the two digits of each byte begin. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
/** Of every byte. */
const DIGITS = Buffer.from(Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)).toString('hex'));

const NO_DIGIT = 0xff;
/** By the code of the character. */
const VALUES = Uint8Array.from({ length: 128 }, (_, code) => {
  const value = Number.parseInt(String.fromCharCode(code), 16);
  return Number.isNaN(value) ? NO_DIGIT : value;
});
const valueAt = (text: string, place: number): number => VALUES[text.charCodeAt(place)] ?? NO_DIGIT;

/** The bytes of a text in either case. Throws for what is no UUID. */
export function writeUuid(target: Uint8Array, offset: number, uuid: string): void {
  let seen = 0;
  let at = offset;
  for (const place of PLACES) {
    const [high, low] = [valueAt(uuid, place), valueAt(uuid, place + 1)];
    seen |= high | low;
    target[at++] = high * 16 + low;
  }
  if (seen > 0xf || uuid.length !== TEXT.length) throw new Error(`${uuid} is no UUID`);
}

/** The canonical text of the bytes that begin here. */
export function uuidText(bytes: Uint8Array, offset: number): string {
  let at = offset;
  for (const place of PLACES) {
    const digits = 2 * (bytes[at++] ?? 0);
    TEXT[place] = DIGITS[digits] ?? 0;
    TEXT[place + 1] = DIGITS[digits + 1] ?? 0;
  }
  return TEXT.toString('latin1');
}
