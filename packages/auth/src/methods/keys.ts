/** Single-purpose keys, derived from the installation's one secret. */
import { createHmac, hkdfSync } from 'node:crypto';

/** An HMAC-SHA256 in hexadecimal over unambiguously separated parts. */
export type KeyedHash = (...parts: readonly string[]) => string;

/** `purpose` must never change: another text yields other hashes. */
export function keyedHash(secretsKey: Uint8Array, purpose: string): KeyedHash {
  const key = Buffer.from(hkdfSync('sha256', secretsKey, '', `coffer auth: ${purpose}`, 32));
  return (...parts) => createHmac('sha256', key).update(JSON.stringify(parts)).digest('hex');
}
