/** Who calls: credential first (401), then its kind (403). Source: spec, Authentication; contract, Order of checks. */
import type { AppCaller, Caller, CredentialKind } from './endpoint.ts';
import { reject } from './errors.ts';

export interface Credentials {
  /** The app behind a live key, undefined for any other text. Whoever gives it caches it. */
  readonly resolveKey: (token: string) => Promise<AppCaller | undefined> | AppCaller | undefined;
  /** In constant time. */
  readonly isOperatorToken: (token: string) => boolean;
}

/** Longer than any credential of ours: not worth a look-up. */
const MAX_TOKEN_LENGTH = 4096;

/**
 * The caller of an endpoint that takes `kind`. Throws `auth/missing_credentials`, `auth/invalid_key`,
 * `auth/wrong_credential_kind`. An endpoint without a credential does not look at what is sent.
 */
export function authenticate(
  kind: CredentialKind,
  authorization: string | undefined,
  credentials: Credentials,
): Promise<Caller | undefined> | Caller | undefined {
  if (kind === 'none') return undefined;

  const token = bearerToken(authorization);
  if (token === undefined) throw reject('auth/missing_credentials');
  if (token.length > MAX_TOKEN_LENGTH) throw reject('auth/invalid_key');
  const resolved = kind === 'operator' ? undefined : credentials.resolveKey(token);
  // A key out of the cache costs no turn of the event loop.
  if (resolved && !(resolved instanceof Promise)) return ofKind(kind, resolved);
  return resolveSlowly(kind, token, resolved, credentials);
}

async function resolveSlowly(
  kind: CredentialKind,
  token: string,
  resolved: Promise<AppCaller | undefined> | undefined,
  credentials: Credentials,
): Promise<Caller> {
  const app = await resolved;
  if (app) return ofKind(kind, app);
  if (credentials.isOperatorToken(token)) return ofKind(kind, { kind: 'operator' });
  const otherKind = kind === 'operator' && (await credentials.resolveKey(token));
  if (otherKind) return ofKind(kind, otherKind);
  throw reject('auth/invalid_key');
}

function ofKind(kind: CredentialKind, caller: Caller): Caller {
  if (CREDENTIAL_OF[caller.kind] === kind) return caller;
  throw reject('auth/wrong_credential_kind', { required: kind });
}

const CREDENTIAL_OF = { secret: 'sk', publishable: 'pk', operator: 'operator' } as const satisfies Record<
  Caller['kind'],
  CredentialKind
>;

function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  // RFC 9110: the scheme's name is in any case, spaces may follow it.
  return /^bearer +([^\s]+) *$/i.exec(authorization)?.[1];
}

/** Goes into the metadata of events. */
export function actorOf(caller: Caller | undefined): string {
  if (!caller) return 'anonymous';
  return caller.kind === 'operator' ? 'operator' : `key:${caller.keyId}`;
}
