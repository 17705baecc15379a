/** Base58 as Solana writes addresses: 32 bytes, no checksum. */
import { z } from 'zod';

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const ADDRESS_BYTES = 32;
const ADDRESS_MAX_LENGTH = 44;

export function encodeBase58(bytes: Uint8Array): string {
  let value = bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  let text = '';
  for (; value > 0n; value /= 58n) text = ALPHABET.charAt(Number(value % 58n)) + text;
  // Each leading zero byte becomes a leading "1"; the number alone would lose them.
  for (const byte of bytes) {
    if (byte !== 0) break;
    text = `1${text}`;
  }
  return text;
}

/** The bytes that the text encodes; undefined unless it is their only base58 spelling. The text must be of bounded length. */
export function decodeBase58(text: string): Uint8Array | undefined {
  let value = 0n;
  for (const character of text) {
    const digit = ALPHABET.indexOf(character);
    if (digit < 0) return undefined;
    value = value * 58n + BigInt(digit);
  }
  const leadingZeros = /^1*/.exec(text)?.[0].length ?? 0;
  const hex = value === 0n ? '' : value.toString(16);
  return Buffer.concat([
    Buffer.alloc(leadingZeros),
    Buffer.from(hex.length % 2 === 1 ? `0${hex}` : hex, 'hex'),
  ]);
}

/** Whether the text is the base58 spelling of 32 bytes. */
export const isBase58Address = (text: string): boolean => decodeBase58Address(text) !== undefined;

/** As close as a schema gets: some texts that match decode to fewer or more than 32 bytes. */
export const ADDRESS_SCHEMA = {
  pattern: `^[${ALPHABET}]{32,${ADDRESS_MAX_LENGTH}}$`,
  example: '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T',
};
export const addressText = z
  .string()
  .refine(isBase58Address, 'must be a base58 address of 32 bytes')
  .meta(ADDRESS_SCHEMA);

/** `native`, or the address of a mint. */
export const mintText = z
  .string()
  .refine((text) => text === 'native' || isBase58Address(text), 'must be "native" or a base58 mint address')
  .meta({ pattern: `^(?:native|[${ALPHABET}]{32,${ADDRESS_MAX_LENGTH}})$`, example: 'native' });

/** The 32 bytes that the text encodes; undefined unless it is their only base58 spelling. */
export function decodeBase58Address(text: string): Uint8Array | undefined {
  // Decoding takes time quadratic in the length.
  if (text.length > ADDRESS_MAX_LENGTH) return undefined;
  const bytes = decodeBase58(text);
  return bytes?.length === ADDRESS_BYTES ? bytes : undefined;
}
