/** For specs: the keys of exported wallets, read as their recipients read them. */
import nacl from 'tweetnacl';

export interface Recipient {
  /** For the request. */
  readonly recipientPublicKey: string;
  /** The 64 bytes of the secret key; null if they were sealed for somebody else. */
  readonly open: (sealedSecretKey: unknown) => Uint8Array | null;
}

/** With its own key pair. Opens as docs/api.md describes. */
export function newRecipient(): Recipient {
  const { publicKey, secretKey } = nacl.box.keyPair();
  return {
    recipientPublicKey: Buffer.from(publicKey).toString('base64'),
    open(sealedSecretKey) {
      const sealed = new Uint8Array(Buffer.from(String(sealedSecretKey), 'base64'));
      const [sender, nonce, box] = [sealed.slice(0, 32), sealed.slice(32, 56), sealed.slice(56)];
      return nacl.box.open(box, nonce, sender, secretKey);
    },
  };
}

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** The 64 bytes behind a base58 secret key, decoded by other means than the product's. */
export function secretKeyBytes(secretKey: unknown): Uint8Array {
  let value = 0n;
  for (const character of String(secretKey)) value = value * 58n + BigInt(ALPHABET.indexOf(character));
  return new Uint8Array(Buffer.from(value.toString(16).padStart(128, '0'), 'hex'));
}
