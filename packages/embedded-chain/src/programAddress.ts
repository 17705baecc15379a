/** The associated token account of an owner and a mint: an address derived so that no key can belong to it. */
import { createHash } from 'node:crypto';
import { decodeKey, encodeBase58 } from './base58.ts';

export const ASSOCIATED_TOKEN_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL';

export function associatedTokenAddress(owner: string, mint: string, tokenProgram: string): string {
  const seeds = [owner, tokenProgram, mint].map(keyBytes);
  for (let bump = 255; bump >= 0; bump -= 1) {
    const hash = createHash('sha256');
    for (const seed of seeds) hash.update(seed);
    hash.update(Buffer.of(bump)).update(keyBytes(ASSOCIATED_TOKEN_PROGRAM)).update('ProgramDerivedAddress');
    const candidate = hash.digest();
    if (!isOnCurve(candidate)) return encodeBase58(candidate);
  }
  throw new Error(`there is no associated token address of ${owner} and ${mint}`);
}

const P = 2n ** 255n - 19n;
const D = mod(-121665n * power(121666n, P - 2n));

/** Whether the bytes are a point of Ed25519, hence could be a public key: whether its x has a square root. */
export function isOnCurve(bytes: Uint8Array): boolean {
  const y = BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`) & (2n ** 255n - 1n);
  const squared = mod(y * y);
  const ratio = mod((squared - 1n) * power(D * squared + 1n, P - 2n));
  return ratio === 0n || power(ratio, (P - 1n) / 2n) === 1n;
}

function mod(value: bigint): bigint {
  const rest = value % P;
  return rest < 0n ? rest + P : rest;
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let square = mod(base);
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = mod(result * square);
    square = mod(square * square);
  }
  return result;
}

function keyBytes(text: string): Uint8Array {
  const bytes = decodeKey(text);
  if (!bytes) throw new TypeError(`${text} is no address`);
  return bytes;
}
