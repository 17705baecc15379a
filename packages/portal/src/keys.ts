/** The keys of an app. A secret is shown once, when it is created; only its hash is kept. */
import { given, type Queryable, rawSql, rowsOf, sql } from '@coffer/database';
import { type Environment, newId } from '@coffer/kernel';
import type { AdminChange } from './adminActions.ts';
import { hashToken, hintOf, type KeyKind, mintToken } from './apiKey.ts';
import { reject } from './errors.ts';

export interface ApiKey {
  readonly keyId: string;
  readonly environment: Environment;
  readonly kind: KeyKind;
  readonly hint: string;
  /** Null for a secret key: it cannot be shown again. */
  readonly publishableToken: string | null;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

/** The keys that one request concerns. */
export interface KeyPlace {
  readonly appId: string;
  readonly environment: Environment;
}

const AS_KEY = `key_id as "keyId", environment, kind, hint, publishable_token as "publishableToken",
  created_at as "createdAt", last_used_at as "lastUsedAt", expires_at as "expiresAt", revoked_at as "revokedAt"`;

/** Oldest first. */
export const listKeys = (
  queryable: Queryable,
  appId: string,
  environment: Environment | undefined,
): Promise<readonly ApiKey[]> => rowsOf<ApiKey>(queryable, keysWhere({ app_id: appId, environment }));

/** Oldest first; undefined fields do not filter. */
const keysWhere = (columns: Readonly<Record<string, string | undefined>>) =>
  sql('api_keys')
    .withSchema('records')
    .select(rawSql(AS_KEY))
    .where(given(columns))
    .orderBy(['created_at', 'key_id']);

export interface MintedKey {
  readonly key: ApiKey;
  readonly token: string;
}

/** Each call creates another key: if the answer is lost, the key is listed and can be revoked. */
export async function createKey(change: AdminChange, place: KeyPlace, kind: KeyKind): Promise<MintedKey> {
  const token = mintToken(kind, place.environment);
  const key = await insertKey(change, place, kind, token);
  await change.record('keys.create', place.appId, { keyId: key.keyId, environment: place.environment, kind });
  return { key, token };
}

/** Inserts a key whose token was generated before. */
export async function insertKey(
  { client, at }: Pick<AdminChange, 'client' | 'at'>,
  { appId, environment }: KeyPlace,
  kind: KeyKind,
  token: string,
): Promise<ApiKey> {
  const publishableToken = kind === 'publishable' ? token : null;
  const key: ApiKey = {
    keyId: newId('key'),
    environment,
    kind,
    hint: hintOf(token),
    publishableToken,
    createdAt: at,
    lastUsedAt: null,
    expiresAt: null,
    revokedAt: null,
  };
  await client.query(
    `insert into records.api_keys
       (key_id, app_id, environment, kind, token_sha256, hint, publishable_token, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [key.keyId, appId, environment, kind, hashToken(token), key.hint, publishableToken, at],
  );
  return key;
}

/** Which key: by id, or the only one of its kind in use. */
export interface KeyChoice {
  readonly keyId?: string | undefined;
  readonly kind?: KeyKind | undefined;
}

/**
 * Creates a new key and lets the old one work for another `graceSeconds`.
 * Throws `portal/key_not_found`, `portal/key_ambiguous`, `portal/key_inactive`.
 */
export async function rotateKey(
  change: AdminChange,
  place: KeyPlace,
  { graceSeconds, ...choice }: KeyChoice & { readonly graceSeconds: number },
): Promise<MintedKey & { readonly previous: ApiKey }> {
  const current = await choose(change, place, choice);
  if (current.revokedAt || current.expiresAt) {
    throw reject('portal/key_inactive', { keyId: current.keyId });
  }
  const ends = graceSeconds === 0 ? 'revoked_at' : 'expires_at';
  const endsAt = new Date(change.at.getTime() + graceSeconds * 1000);
  await change.client.query(`update records.api_keys set ${ends} = $2 where key_id = $1`, [
    current.keyId,
    endsAt,
  ]);

  const token = mintToken(current.kind, place.environment);
  const key = await insertKey(change, place, current.kind, token);
  await change.record('keys.rotate', place.appId, {
    keyId: key.keyId,
    previousKeyId: current.keyId,
    graceSeconds,
  });
  const previous = { ...current, ...(graceSeconds === 0 ? { revokedAt: endsAt } : { expiresAt: endsAt }) };
  return { key, token, previous };
}

/** Revoking a revoked key again changes nothing. Throws `portal/key_not_found`, `portal/key_ambiguous`. */
export async function revokeKey(
  change: AdminChange,
  place: KeyPlace,
  choice: KeyChoice,
): Promise<{ readonly key: ApiKey; readonly replayed: boolean }> {
  const key = await choose(change, place, choice);
  if (key.revokedAt) return { key, replayed: true };

  await change.client.query('update records.api_keys set revoked_at = $2 where key_id = $1', [
    key.keyId,
    change.at,
  ]);
  await change.record('keys.revoke', place.appId, { keyId: key.keyId });
  return { key: { ...key, revokedAt: change.at }, replayed: false };
}

/** Locks the chosen row, so that of two simultaneous rotations only one ends it. */
async function choose(
  { client }: AdminChange,
  { appId, environment }: KeyPlace,
  { keyId, kind }: KeyChoice,
): Promise<ApiKey> {
  const query = keysWhere({ app_id: appId, environment, kind, key_id: keyId }).forUpdate();
  if (keyId === undefined) query.whereNull('revoked_at').whereNull('expires_at');
  const [only, ...others] = await rowsOf<ApiKey>(client, query);
  if (!only) throw reject('portal/key_not_found', keyId === undefined ? {} : { keyId });
  if (others.length > 0)
    throw reject('portal/key_ambiguous', { keyIds: [only, ...others].map((key) => key.keyId) });
  return only;
}
