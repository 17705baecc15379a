/** Keys for one purpose each, derived from the one secret of the installation. */
import { createHmac, hkdfSync } from 'node:crypto';

/** An HMAC-SHA256 in hexadecimal over parts that cannot run into each other. */
export type KeyedHash = (...parts: readonly string[]) => string;

/** `purpose` is for ever: another text makes other hashes. */
export function keyedHash(secretsKey: Uint8Array, purpose: string): KeyedHash {
  const key = Buffer.from(hkdfSync('sha256', secretsKey, '', `coffer auth: ${purpose}`, 32));
  return (...parts) => createHmac('sha256', key).update(JSON.stringify(parts)).digest('hex');
}
