/**
 * The log stores identities as keyed hashes: without the key nobody can test addresses or ids against it.
 * The key never changes, because the hash names the stream that identifies a returning player.
 */

import { createHmac } from 'node:crypto';
import type { Queryable } from '@coffer/database';
import type { AppPlace } from '@coffer/kernel';
import type { VerifiedIdentity } from '../types.ts';

/** 64 hexadecimal digits. */
export type IdentityHash = (
  place: Pick<AppPlace, 'environment' | 'scopeId'>,
  identity: Pick<VerifiedIdentity, 'type' | 'externalId'>,
) => string;

/** The key must be 32 bytes. */
export function createIdentityHash(key: Uint8Array): IdentityHash {
  if (key.length !== 32) {
    throw new Error(`The key of identities must have 32 bytes; this one has ${key.length}.`);
  }
  return ({ environment, scopeId }, { type, externalId }) =>
    hmacOf(key, ['identity', environment, scopeId, type, externalId]);
}

/** The identity key given does not belong to this installation. The message says what to do. */
export class IdentityKeyMismatchError extends Error {
  override readonly name = 'IdentityKeyMismatchError';
}

/**
 * Returns if this is the key that the installation's identities are hashed with: the key of its first start. Throws
 * an `IdentityKeyMismatchError` for any other, with which every returning player would silently become a new user.
 */
export async function requireIdentityKey(queryable: Queryable, key: Uint8Array): Promise<void> {
  const fingerprint = hmacOf(key, ['fingerprint of the identity key']);
  await queryable.query(
    'insert into records.auth_identity_key (fingerprint) values ($1) on conflict do nothing',
    [fingerprint],
  );
  const { rows } = await queryable.query<{ fingerprint: string }>(
    'select fingerprint from records.auth_identity_key',
  );
  if (rows[0]?.fingerprint === fingerprint) return;
  throw new IdentityKeyMismatchError(
    'The identity key is not the one that this installation began with, so it would take every returning player for a new one. Set COFFER_IDENTITY_KEY to the first one, or put identity-key.json back into the data folder.',
  );
}

/** The parts are joined unambiguously. */
const hmacOf = (key: Uint8Array, parts: readonly string[]): string =>
  createHmac('sha256', key).update(JSON.stringify(parts)).digest('hex');
