/** Solana's text form of keys, hashes and signatures. */

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const DIGIT_OF = new Map([...ALPHABET].map((character, digit) => [character, BigInt(digit)]));

export function encodeBase58(bytes: Uint8Array): string {
  let zeros = 0;
  while (bytes[zeros] === 0) zeros += 1;
  let digits = '';
  const hex = Buffer.from(bytes).toString('hex');
  for (let rest = BigInt(`0x0${hex}`); rest > 0n; rest /= 58n) digits = ALPHABET[Number(rest % 58n)] + digits;
  return '1'.repeat(zeros) + digits;
}

/** Undefined where the text is none. */
export function decodeBase58(text: string): Uint8Array | undefined {
  let value = 0n;
  for (const character of text) {
    const digit = DIGIT_OF.get(character);
    if (digit === undefined) return undefined;
    value = value * 58n + digit;
  }
  const hex = value === 0n ? '' : value.toString(16);
  const zeros = text.length - text.replace(/^1+/, '').length;
  return Buffer.concat([Buffer.alloc(zeros), Buffer.from(hex.length % 2 ? `0${hex}` : hex, 'hex')]);
}

/** Bytes of a key or a hash; undefined where the text is none. */
export function decodeKey(text: string): Uint8Array | undefined {
  // The longest of 32 bytes has 44 digits: decoding takes time that grows with the square of the length.
  if (text.length > 44) return undefined;
  const bytes = decodeBase58(text);
  return bytes?.length === 32 ? bytes : undefined;
}
