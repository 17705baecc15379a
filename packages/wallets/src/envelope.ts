/**
 * Envelope encryption of a wallet's seed. The seed's own data key seals it and a master key wraps the data key, both by
 * AES-256-GCM. Both layers are bound to everything that identifies the key, so a row that takes another's place, whole
 * or in part, does not open. The spec of the feature binds keys to the app; our wallets belong to a scope, so they are
 * bound to that. Source: ADR 0015.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Environment } from '@coffer/kernel';
import { publicKeyOf, SEED_BYTES } from './ed25519.ts';
import type { MasterKey } from './masterKeys.ts';

const CIPHER = 'aes-256-gcm';
const DATA_KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The version of this format; it has nothing to do with the version of a master key. */
const FORMAT = 1;

/** What identifies the key. Kept in the clear next to the sealed key, and bound into both layers. */
export interface KeyIdentity {
  readonly environment: Environment;
  readonly ownerId: string;
  readonly walletId: string;
  readonly publicKey: Uint8Array;
}

export interface SealedKey {
  readonly format: number;
  readonly masterKeyVersion: number;
  /** Nonce, ciphertext and tag: 60 bytes. */
  readonly wrappedDataKey: Uint8Array;
  /** Nonce, ciphertext and tag: 60 bytes. */
  readonly sealedSeed: Uint8Array;
}

/** The stored key does not open: a byte, its place or the master key differs. The message never says what was found. */
export class SealedKeyError extends Error {
  override readonly name = 'SealedKeyError';
  readonly walletId: string;

  constructor(walletId: string, options?: ErrorOptions) {
    super(`The key of ${walletId} cannot be opened: its row was changed, or belongs elsewhere.`, options);
    this.walletId = walletId;
  }
}

/** The master key must be of the identity's environment. Wiping the seed is left to the caller. */
export function sealKey(seed: Uint8Array, identity: KeyIdentity, masterKey: MasterKey): SealedKey {
  const dataKey = randomBytes(DATA_KEY_BYTES);
  try {
    const sealed = {
      format: FORMAT,
      masterKeyVersion: masterKey.version,
      wrappedDataKey: wrap(dataKey, identity, masterKey),
      sealedSeed: encrypt(dataKey, seed, boundTo('seed', identity)),
    };
    // A wallet whose key cannot be opened again would still receive money.
    openKey(sealed, identity, masterKey, () => undefined);
    return sealed;
  } finally {
    dataKey.fill(0);
  }
}

/**
 * Calls `use` with the seed, which is wiped as soon as `use` returns: it must neither keep the seed nor go on
 * asynchronously. Throws a `SealedKeyError`, also if the seed does not belong to the public key.
 */
export function openKey<Result>(
  sealed: SealedKey,
  identity: KeyIdentity,
  masterKey: MasterKey,
  use: (seed: Uint8Array) => Result,
): Result {
  const dataKey = unwrap(sealed, identity, masterKey);
  let seed: Buffer | undefined;
  try {
    seed = decrypted(identity, () => decrypt(dataKey, sealed.sealedSeed, boundTo('seed', identity)));
    if (seed.length !== SEED_BYTES || !publicKeyOf(seed).equals(identity.publicKey)) {
      throw new SealedKeyError(identity.walletId);
    }
    return use(seed);
  } finally {
    dataKey.fill(0);
    seed?.fill(0);
  }
}

/** The same key under another master key. The seed stays sealed. Throws a `SealedKeyError`. */
export function rewrapKey(
  sealed: SealedKey,
  identity: KeyIdentity,
  { from, to }: { readonly from: MasterKey; readonly to: MasterKey },
): SealedKey {
  const dataKey = unwrap(sealed, identity, from);
  try {
    return {
      ...sealed,
      masterKeyVersion: to.version,
      wrappedDataKey: wrap(dataKey, identity, to),
    };
  } finally {
    dataKey.fill(0);
  }
}

const wrap = (dataKey: Buffer, identity: KeyIdentity, masterKey: MasterKey) =>
  encrypt(masterKey.key, dataKey, wrappedFor(identity, masterKey));

function unwrap(sealed: SealedKey, identity: KeyIdentity, masterKey: MasterKey): Buffer {
  if (
    sealed.format !== FORMAT ||
    sealed.masterKeyVersion !== masterKey.version ||
    identity.environment !== masterKey.environment
  ) {
    throw new SealedKeyError(identity.walletId);
  }
  return decrypted(identity, () =>
    decrypt(masterKey.key, sealed.wrappedDataKey, wrappedFor(identity, masterKey)),
  );
}

const wrappedFor = (identity: KeyIdentity, { version }: MasterKey) =>
  boundTo('data key', identity, `${version}`);

/** The parts are joined unambiguously, and the layers differ, so that neither can pass for the other. */
const boundTo = (
  layer: 'data key' | 'seed',
  { environment, ownerId, walletId, publicKey }: KeyIdentity,
  ...more: readonly string[]
): Buffer =>
  Buffer.from(
    JSON.stringify([
      'coffer wallet key',
      layer,
      FORMAT,
      environment,
      ownerId,
      walletId,
      Buffer.from(publicKey).toString('hex'),
      ...more,
    ]),
  );

function encrypt(key: Parameters<typeof createCipheriv>[1], plain: Uint8Array, bound: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(bound);
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function decrypt(key: Parameters<typeof createDecipheriv>[1], sealed: Uint8Array, bound: Buffer): Buffer {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) throw new RangeError('Too short to be sealed.');
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(bound).setAuthTag(sealed.subarray(-TAG_BYTES));
  const plain = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
  try {
    // In this mode no output is left at the end; the call checks the tag.
    decipher.final();
    return plain;
  } catch (error) {
    plain.fill(0);
    throw error;
  }
}

function decrypted(identity: KeyIdentity, work: () => Buffer): Buffer {
  try {
    return work();
  } catch (error) {
    throw new SealedKeyError(identity.walletId, { cause: error });
  }
}
