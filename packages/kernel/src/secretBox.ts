/**
 * Secrets at rest: AES-256-GCM. Each value has its own random nonce and is bound to its place, so that a row copied to
 * another app, environment, key or person does not open.
 */
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto';
import { z } from 'zod';

const KEY_BYTES = 32;
const NONCE_BYTES = 12;

const bytes = z.base64();
const sealedValue = z.strictObject({
  version: z.literal(1),
  nonce: bytes,
  ciphertext: bytes,
  tag: bytes,
});
type SealedValue = z.infer<typeof sealedValue>;

export interface SecretBox {
  /** `place` is not stored: whoever opens the value must give the same one. */
  readonly seal: (text: string, place: string) => SealedValue;
  /** Throws when the key or the place differs, or a byte was changed. */
  readonly open: (sealed: unknown, place: string) => string;
}

/** Takes a key of 32 bytes. */
export function createSecretBox(key: Uint8Array): SecretBox {
  if (key.length !== KEY_BYTES) {
    throw new Error(`The key of a secret box must have ${KEY_BYTES} bytes; this one has ${key.length}.`);
  }
  // Made once: building the key object from bytes at each use costs several times what the cipher does.
  const secret = createSecretKey(key);
  return {
    seal: (text, place) => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', secret, nonce).setAAD(Buffer.from(place));
      const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return {
        version: 1,
        nonce: nonce.toString('base64'),
        ciphertext: ciphertext.toString('base64'),
        tag: cipher.getAuthTag().toString('base64'),
      };
    },
    open: (sealed, place) => {
      const { nonce, ciphertext, tag } = sealedValue.parse(sealed);
      const decipher = createDecipheriv('aes-256-gcm', secret, Buffer.from(nonce, 'base64'), {
        authTagLength: 16,
      });
      decipher.setAAD(Buffer.from(place)).setAuthTag(Buffer.from(tag, 'base64'));
      return Buffer.concat([decipher.update(Buffer.from(ciphertext, 'base64')), decipher.final()]).toString(
        'utf8',
      );
    },
  };
}
