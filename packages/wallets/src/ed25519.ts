/**
 * Ed25519 by node:crypto. A secret key is its seed, 32 bytes in a Buffer that its owner wipes; the key objects made
 * from it live for one call, outside the JavaScript heap, and never enter another library.
 */
import {
  createPrivateKey,
  createPublicKey,
  sign as cryptoSign,
  verify as cryptoVerify,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';

export const SEED_BYTES = 32;
const PUBLIC_KEY_BYTES = 32;

/** What precedes the seed in PKCS #8. Source: RFC 8410, section 7. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

export interface KeyPair {
  /** Secret: the caller must wipe it. */
  readonly seed: Buffer;
  readonly publicKey: Buffer;
}

export function generateKeyPair(): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519', {
    privateKeyEncoding: { format: 'der', type: 'pkcs8' },
    publicKeyEncoding: { format: 'der', type: 'spki' },
  });
  try {
    const seed = Buffer.alloc(SEED_BYTES);
    privateKey.copy(seed, 0, privateKey.length - SEED_BYTES);
    return { seed, publicKey: Buffer.from(publicKey.subarray(-PUBLIC_KEY_BYTES)) };
  } finally {
    privateKey.fill(0);
  }
}

export function publicKeyOf(seed: Uint8Array): Buffer {
  const spki = createPublicKey(privateKeyOf(seed)).export({ format: 'der', type: 'spki' });
  return Buffer.from(spki.subarray(-PUBLIC_KEY_BYTES));
}

/** Returns the 64 bytes of the signature. */
export const sign = (seed: Uint8Array, message: Uint8Array): Buffer =>
  cryptoSign(null, message, privateKeyOf(seed));

/** Whether the signature is that key's for the message; false for an invalid key. */
export function verifySignature(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const x = Buffer.from(publicKey).toString('base64url');
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    return cryptoVerify(null, message, key, signature);
  } catch {
    return false;
  }
}

function privateKeyOf(seed: Uint8Array): KeyObject {
  const der = Buffer.concat([PKCS8_PREFIX, seed]);
  try {
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  } finally {
    der.fill(0);
  }
}
