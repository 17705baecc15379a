/**
 * Which 32 bytes may be a player's key. A point of small order has no owner: anybody can forge signatures that
 * satisfy the equation of Ed25519 for it, and whether a library accepts them depends on its version. A second
 * encoding of a point would be a second identity for the same key.
 */
import { decodeBase58Address } from '@coffer/kernel';

/** The prime of the field, 2^255 - 19. */
const P = 2n ** 255n - 19n;
const SIGN_BIT = 2n ** 255n;

/** The y of all eight points whose order divides 8. Their x differ only in sign. */
const SMALL_ORDER_Y: readonly bigint[] = [
  0n,
  1n,
  P - 1n,
  0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n,
];

/** The bytes of a base58 public key; undefined for other text, points of small order and second encodings. */
export function publicKeyBytes(text: string): Uint8Array | undefined {
  const bytes = decodeBase58Address(text);
  return bytes && isAcceptableKey(bytes) ? bytes : undefined;
}

/** The input must be 32 bytes. */
export function isAcceptableKey(bytes: Uint8Array): boolean {
  const y = BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`) % SIGN_BIT;
  return y < P && !SMALL_ORDER_Y.includes(y);
}
