/**
 * Access tokens: JWT, ES256 only (RFC 7519, RFC 9068 for the type). We choose the algorithm and the key, never
 * the token. Source: contract, Sign-in and sessions.
 */
import { hash, randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { type Clock, type Environment, environment } from '@coffer/kernel';
import type jsonwebtoken from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { ACCESS_TOKEN_LIFETIME_MS } from './lifetimes.ts';
import { familyEndMs, type Session } from './refreshFamily.ts';
import type { KeySet, SigningKeys } from './signingKeys.ts';

const require = createRequire(import.meta.url);
/** Loaded when it is first used: many processes see no token. ADR 0061. */
const jwt = (): typeof jsonwebtoken => require('jsonwebtoken');

const TYPE = 'at+jwt';
/** Ours have about 600 characters. */
const MAX_LENGTH = 2_048;
const MAX_REMEMBERED_TOKENS = 20_000;

/** Header, claims, and the 64 bytes of an ES256 signature (RFC 7518, 3.4). */
const FORM = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{86}$/;

const header = z.strictObject({ alg: z.literal('ES256'), typ: z.literal(TYPE), kid: z.string() });

const seconds = z.int().nonnegative();
const claims = z.strictObject({
  iss: z.string(),
  /** The app. */
  aud: z.string(),
  env: environment,
  /** The user. */
  sub: z.string(),
  /** The sign-in session. */
  sid: z.string(),
  jti: z.string(),
  /** How the player signed in (RFC 8176 has no values for ours). */
  amr: z.tuple([z.enum(['siws', 'messenger', 'email'])]),
  /** When the player signed in. */
  auth_time: seconds,
  iat: seconds,
  exp: seconds,
});
export const CLAIMS: readonly string[] = Object.keys(claims.shape);
type AccessClaims = z.infer<typeof claims>;

export interface AccessTokens {
  readonly issue: (session: Session) => Promise<{ readonly token: string; readonly expiresAt: Date }>;
  /** The content of an unexpired token that we signed; undefined for any other text. */
  readonly read: (token: string) => AccessClaims | undefined | Promise<AccessClaims | undefined>;
}

export interface AccessTokensOptions {
  readonly keys: SigningKeys;
  readonly clock: Clock;
  /** The prefix of claim `iss`; the environment follows. */
  readonly issuer: string;
}

/** If no public origin is set. */
export const DEFAULT_ISSUER = 'coffer';

/** Claim `iss`: a verifier that expects it accepts no token of the other environment, which has the same audience. */
export function issuerOf(issuer: string, place: Environment): string {
  return `${issuer}/${place}`;
}

export function createAccessTokens({ keys, clock, issuer }: AccessTokensOptions): AccessTokens {
  /** Keyed by the hash of the whole token. A signature is verified once; key and time every time. */
  const verified = new LRUCache<string, { readonly kid: string; readonly claims: AccessClaims }>({
    max: MAX_REMEMBERED_TOKENS,
  });

  /** Includes the issuers of tokens that may still be valid: before an origin was set or environments were named. */
  const issuersOf = (place: Environment): [string, ...string[]] => [
    issuerOf(issuer, place),
    issuerOf(DEFAULT_ISSUER, place),
    DEFAULT_ISSUER,
  ];

  const readWith = (set: KeySet, token: string): AccessClaims | undefined => {
    const nowSeconds = Math.floor(clock().getTime() / 1000);
    const name = hash('sha256', token, 'base64');
    const known = verified.get(name);
    if (known) {
      return set.verifying(known.kid) && known.claims.exp > nowSeconds ? known.claims : undefined;
    }
    const kid = FORM.test(token) ? kidOf(token) : undefined;
    const key = kid === undefined ? undefined : set.verifying(kid);
    if (!key) return undefined;
    const payload = verifiedPayload(() =>
      jwt().verify(token, key.publicKey, {
        algorithms: ['ES256'],
        issuer: issuersOf(key.environment),
        clockTimestamp: nowSeconds,
      }),
    );
    const read = claims.safeParse(payload);
    if (!read.success || read.data.env !== key.environment) return undefined;
    verified.set(name, { kid: key.kid, claims: read.data });
    return read.data;
  };

  return {
    issue: async (session) => {
      const { appId, environment: env } = session.place;
      const { kid, privateKey } = (await keys.current()).signing(env);
      const nowMs = clock().getTime();
      const endMs = Math.min(nowMs + ACCESS_TOKEN_LIFETIME_MS, familyEndMs(session));
      const payload: AccessClaims = {
        iss: issuerOf(issuer, env),
        aud: appId,
        env,
        sub: session.userId,
        sid: session.sessionId,
        jti: randomUUID(),
        amr: [session.authMethod],
        auth_time: Math.floor(session.signedInAt.getTime() / 1000),
        iat: Math.floor(nowMs / 1000),
        exp: Math.floor(endMs / 1000),
      };
      const token = jwt().sign(payload, privateKey, {
        algorithm: 'ES256',
        keyid: kid,
        header: { alg: 'ES256', typ: TYPE },
      });
      return { token, expiresAt: new Date(payload.exp * 1000) };
    },
    read: (token) => {
      if (token.length > MAX_LENGTH) return undefined;
      const set = keys.current();
      return set instanceof Promise ? set.then((loaded) => readWith(loaded, token)) : readWith(set, token);
    },
  };
}

/** The key that the token names as its signer, if it does so in exactly our form. */
function kidOf(token: string): string | undefined {
  const [first = ''] = token.split('.', 1);
  try {
    const read = header.safeParse(JSON.parse(Buffer.from(first, 'base64url').toString('utf8')));
    return read.success ? read.data.kid : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** For a bad token the library throws errors of its own kinds, and JSON errors for text that is not a token. */
function verifiedPayload(verify: () => unknown): unknown {
  try {
    return verify();
  } catch (error) {
    if (error instanceof jwt().JsonWebTokenError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
