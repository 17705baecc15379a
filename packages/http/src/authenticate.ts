/** Identifies the caller: credential first (401), then its kind (403). Source: spec, Authentication; contract, Order of checks. */
import type { AppCaller, Caller, CredentialKind, PortalCaller, SessionCaller } from './endpoint.ts';
import { reject } from './errors.ts';

type KeyCaller = AppCaller | PortalCaller;

export interface Credentials {
  /** The app of a live key or portal session token, undefined for any other text. Callers expect it to be cached. */
  readonly resolveKey: (token: string) => Promise<KeyCaller | undefined> | KeyCaller | undefined;
  /** The player of a currently valid access token, undefined for any other text. */
  readonly resolveSession: (token: string) => Promise<SessionCaller | undefined> | SessionCaller | undefined;
  /** In constant time. */
  readonly isOperatorToken: (token: string) => boolean;
  /** Who the operator is at the portal of an app; undefined where operators are not served. */
  readonly operatorAt?: ((appId: string) => Promise<PortalCaller>) | undefined;
}

/** Longer than any credential of ours: not worth a lookup. */
const MAX_TOKEN_LENGTH = 4096;

/**
 * The caller of an endpoint that takes `kind`. Throws `auth/missing_credentials`, `auth/wrong_credential_kind`, and
 * `auth/invalid_session` where a session of either kind is taken, otherwise `auth/invalid_key`. An endpoint without a credential
 * ignores any that is sent.
 */
export function authenticate(
  kind: CredentialKind,
  authorization: string | undefined,
  credentials: Credentials,
): Promise<Caller | undefined> | Caller | undefined {
  if (kind === 'none') return undefined;

  const token = bearerToken(authorization);
  if (token === undefined) throw reject('auth/missing_credentials');
  if (token.length > MAX_TOKEN_LENGTH) throw reject(INVALID[kind]);
  const takesOperator = kind === 'operator' || (kind === 'portal' && credentials.operatorAt !== undefined);
  if (takesOperator && credentials.isOperatorToken(token)) return { kind: 'operator' };
  // A key is never a JWT and a JWT is never a key, so the form decides who resolves it.
  const resolved = isJwtLike(token) ? credentials.resolveSession(token) : credentials.resolveKey(token);
  // A synchronous result costs no turn of the event loop.
  if (resolved && !(resolved instanceof Promise)) return ofKind(kind, resolved);
  return resolveSlowly(kind, token, resolved, credentials);
}

async function resolveSlowly(
  kind: Exclude<CredentialKind, 'none'>,
  token: string,
  resolved: Promise<Caller | undefined> | undefined,
  credentials: Credentials,
): Promise<Caller> {
  const caller = await resolved;
  if (caller) return ofKind(kind, caller);
  if (credentials.isOperatorToken(token)) return ofKind(kind, { kind: 'operator' });
  throw reject(INVALID[kind]);
}

function ofKind(kind: CredentialKind, caller: Caller): Caller {
  if (CREDENTIAL_OF[caller.kind] === kind) return caller;
  throw reject('auth/wrong_credential_kind', { required: kind });
}

const CREDENTIAL_OF = {
  secret: 'sk',
  publishable: 'pk',
  session: 'session',
  operator: 'operator',
  portal: 'portal',
} as const satisfies Record<Caller['kind'], CredentialKind>;

const INVALID = {
  sk: 'auth/invalid_key',
  pk: 'auth/invalid_key',
  operator: 'auth/invalid_key',
  session: 'auth/invalid_session',
  portal: 'auth/invalid_session',
} as const;

/** Three parts separated by dots. */
function isJwtLike(token: string): boolean {
  const first = token.indexOf('.');
  return first > 0 && token.indexOf('.', first + 1) > first;
}

function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  // RFC 9110: the scheme is case-insensitive, and several spaces may follow it.
  return /^bearer +([^\s]+) *$/i.exec(authorization)?.[1];
}

/** For the metadata of events. */
export function actorOf(caller: Caller | undefined): string {
  if (!caller) return 'anonymous';
  if (caller.kind === 'operator') return 'operator';
  if (caller.kind === 'portal') return `portal:${caller.role}`;
  return caller.kind === 'session' ? `user:${caller.userId}` : `key:${caller.keyId}`;
}
