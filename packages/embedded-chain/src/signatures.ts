/** Whether everyone has signed who must. */
import { createPublicKey, verify } from 'node:crypto';
import { decodeBase58Address } from '@coffer/kernel';
import type { WireTransaction } from './wire.ts';

/** The prefix of an Ed25519 public key in SPKI. */
const KEY_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

export function verifySignatures({ message, signatures }: WireTransaction): boolean {
  return signatures.every((signature, index) => {
    const key = decodeBase58Address(message.staticKeys[index] ?? '');
    if (!key) return false;
    const publicKey = createPublicKey({ key: Buffer.concat([KEY_PREFIX, key]), format: 'der', type: 'spki' });
    return verify(null, message.bytes, publicKey, signature);
  });
}
