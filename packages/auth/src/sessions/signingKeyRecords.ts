/** The stored keys that sign access tokens: per environment one that signs and one that is next. */
import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { Pool, Queryable } from '@coffer/database';
import { type Environment, environment as environments } from '@coffer/kernel';
import { z } from 'zod';
import { reject } from './errors.ts';
import { STANDBY_MIN_AGE_MS, VERIFY_ONLY_MS } from './lifetimes.ts';

/** Published: `standby`, `signing`, `verify-only`. A retired key verifies nothing. */
type SigningKeyState = 'standby' | 'signing' | 'verify-only' | 'retired';

/** Seals to a place: what was sealed for another key cannot be opened. */
export interface SecretBox {
  readonly seal: (text: string, place: string) => unknown;
  readonly open: (sealed: unknown, place: string) => string;
}

/** RFC 7517 and RFC 7518, 6.2. */
const publicJwk = z.strictObject({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: z.string(),
  y: z.string(),
});
export type PublicJwk = z.infer<typeof publicJwk>;

export interface SigningKeyRecord {
  readonly kid: string;
  readonly environment: Environment;
  readonly state: SigningKeyState;
  readonly publicJwk: PublicJwk;
  /** Null once the key no longer signs. */
  readonly sealedPrivateKey: unknown;
  readonly createdAt: Date;
  readonly verifyUntil: Date | null;
}

const SELECT_KEYS = `select kid, environment, state, public_jwk as "publicJwk",
    sealed_private_key as "sealedPrivateKey", created_at as "createdAt", verify_until as "verifyUntil"
  from records.auth_signing_keys`;

const recordOf = (row: SigningKeyRecord) => ({ ...row, publicJwk: publicJwk.parse(row.publicJwk) });

/** Every key that ever existed, oldest first. */
export async function listSigningKeys(db: Queryable): Promise<readonly SigningKeyRecord[]> {
  const { rows } = await db.query<SigningKeyRecord>(`${SELECT_KEYS} order by created_at, kid`);
  return rows.map(recordOf);
}

/** The keys that sign or verify at that time. Creates the first ones of an installation. */
export async function loadSigningKeys(
  pool: Pool,
  secretBox: SecretBox,
  now: Date,
): Promise<readonly SigningKeyRecord[]> {
  const keys = await selectPublished(pool, now);
  const isComplete = environments.options.every((environment) =>
    (['signing', 'standby'] as const).every((state) =>
      keys.some((key) => key.environment === environment && key.state === state),
    ),
  );
  if (isComplete) return keys;
  for (const environment of environments.options) {
    for (const state of ['signing', 'standby'] as const)
      await insertKey(pool, secretBox, environment, state, now);
  }
  return selectPublished(pool, now);
}

async function selectPublished(db: Queryable, now: Date): Promise<readonly SigningKeyRecord[]> {
  const { rows } = await db.query<SigningKeyRecord>({
    name: 'auth_signing_keys',
    text: `${SELECT_KEYS}
            where state <> 'retired' and (verify_until is null or verify_until > $1) order by created_at, kid`,
    values: [now],
  });
  return rows.map(recordOf);
}

/** If two services create the first key at once, one of them succeeds. */
async function insertKey(
  db: Queryable,
  secretBox: SecretBox,
  environment: Environment,
  state: 'standby' | 'signing',
  now: Date,
): Promise<void> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = publicJwk.parse(publicKey.export({ format: 'jwk' }));
  const kid = thumbprintOf(jwk);
  const text = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64');
  await db.query(
    `insert into records.auth_signing_keys (kid, environment, state, public_jwk, sealed_private_key, created_at)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (environment, state) where state in ('standby', 'signing') do nothing`,
    [kid, environment, state, jwk, JSON.stringify(secretBox.seal(text, sealPlaceOf(environment, kid))), now],
  );
}

const sealPlaceOf = (environment: Environment, kid: string): string =>
  JSON.stringify(['auth signing key', environment, kid]);

/** Throws if the key was sealed with another installation key. */
export function privateKeyOf(key: SigningKeyRecord, secretBox: SecretBox): KeyObject {
  const text = secretBox.open(key.sealedPrivateKey, sealPlaceOf(key.environment, key.kid));
  return createPrivateKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'pkcs8' });
}

/** RFC 7638: the members in alphabetical order, without white space. */
function thumbprintOf({ crv, kty, x, y }: PublicJwk): string {
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
}

export interface Rotation {
  readonly environment: Environment;
  /** The current key stops verifying now: its tokens end, and players refresh. */
  readonly isCompromised: boolean;
}

/** Any constant: a rotation must see the effects of the one before. */
const ROTATION_LOCK = 7_263_002;

/**
 * In a transaction: the next key signs, the previous one only verifies for as long as its tokens live, and a new
 * one becomes next. A next key that cannot be opened is passed over. Throws `auth/standby_key_too_young`.
 */
export async function rotateSigningKeys(
  db: Queryable,
  secretBox: SecretBox,
  { environment, isCompromised }: Rotation,
  now: Date,
): Promise<{ readonly signingKid: string; readonly previousKid: string | undefined }> {
  await db.query('select pg_advisory_xact_lock($1)', [ROTATION_LOCK]);
  const keys = (await selectPublished(db, now)).filter((key) => key.environment === environment);
  const current = keys.find(({ state }) => state === 'signing');
  const next = keys.find(({ state }) => state === 'standby');
  const readyAt = next && new Date(next.createdAt.getTime() + STANDBY_MIN_AGE_MS);
  if (!isCompromised && current && opens(current, secretBox) && readyAt && readyAt > now) {
    throw reject('auth/standby_key_too_young', { environment, readyAt: readyAt.toISOString() });
  }

  await db.query(
    `update records.auth_signing_keys set state = 'retired', verify_until = null
      where environment = $1 and state = 'verify-only' and verify_until <= $2`,
    [environment, now],
  );
  if (current && isCompromised) await changeState(db, current.kid, 'retired', null);
  if (current && !isCompromised) {
    await changeState(db, current.kid, 'verify-only', new Date(now.getTime() + VERIFY_ONLY_MS));
  }
  if (next && opens(next, secretBox)) {
    await db.query(`update records.auth_signing_keys set state = 'signing' where kid = $1`, [next.kid]);
  } else {
    if (next) await changeState(db, next.kid, 'retired', null);
    await insertKey(db, secretBox, environment, 'signing', now);
  }
  await insertKey(db, secretBox, environment, 'standby', now);
  const after = (await selectPublished(db, now)).find(
    (key) => key.environment === environment && key.state === 'signing',
  );
  if (!after) throw new Error(`No key signs in ${environment} after a rotation.`);
  return { signingKid: after.kid, previousKid: current?.kid };
}

async function changeState(
  db: Queryable,
  kid: string,
  state: 'verify-only' | 'retired',
  verifyUntil: Date | null,
): Promise<void> {
  await db.query(
    `update records.auth_signing_keys set state = $2, verify_until = $3, sealed_private_key = null where kid = $1`,
    [kid, state, verifyUntil],
  );
}

function opens(key: SigningKeyRecord, secretBox: SecretBox): boolean {
  try {
    privateKeyOf(key, secretBox);
    return true;
  } catch {
    // Sealed with a lost installation key: useless for signing.
    return false;
  }
}
