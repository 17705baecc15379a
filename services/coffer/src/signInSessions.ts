/** Sign-in sessions, wired: what they need of the installation and of who the users are. */
import { hkdfSync } from 'node:crypto';
import {
  createSessionCredential,
  createSessions,
  createSessionUsers,
  createSigningKeys,
  DEFAULT_ISSUER,
  type Sessions,
  sessionEndpoints,
  sessionEndpointsWithoutUsers,
  signingKeyEndpoints,
  type ViewUser,
} from '@coffer/auth';
import type { Pool } from '@coffer/database';
import type { Credentials, Endpoint, Logger } from '@coffer/http';
import type { Clock, SecretBox } from '@coffer/kernel';
import { createAdminTransaction } from '@coffer/portal';

export interface SignInSessionsOptions {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly secretsKey: Uint8Array;
  readonly secretBox: SecretBox;
  readonly logger: Logger;
  /** Where others reach the service, as the operator says. */
  readonly publicOrigin: string | undefined;
  /** Where it listens; undefined where it does not. */
  readonly ownOrigin: () => string | undefined;
  /** Who a user is. Undefined where nobody can tell: then no session is good, and none is refreshed. */
  readonly view: ViewUser | undefined;
}

export interface SignInSessions {
  readonly sessions: Sessions;
  readonly endpoints: readonly Endpoint[];
  readonly resolveSession: Credentials['resolveSession'];
  readonly stop: () => Promise<void>;
}

/** Sessions of which nothing can come any more are deleted so often, so many at a time. */
const SWEEP_INTERVAL_MS = 60_000;
const SWEEP_LIMIT = 1_000;

export function createSignInSessions(options: SignInSessionsOptions): SignInSessions {
  const { pool, clock, secretsKey, secretBox, logger, publicOrigin, ownOrigin, view } = options;
  const issuer = publicOrigin ?? DEFAULT_ISSUER;
  const nowMs = () => performance.now();
  const keys = createSigningKeys(pool, { secretBox, clock, nowMs });
  const sessions = createSessions(pool, {
    keys,
    refreshKey: refreshKeyFrom(secretsKey),
    clock,
    issuer,
    nowMs,
    onReuse: ({ sessionId, userId, place }) =>
      logger.warn({ sessionId, userId, ...place }, 'a refresh token was used twice: its session was ended'),
  });
  const origin = () => {
    const known = publicOrigin ?? ownOrigin();
    if (known === undefined) throw new Error('A service that does not listen was asked for its address.');
    return known;
  };
  const offline = { sessions, keys, issuer, origin };
  const users = view && createSessionUsers(view, nowMs);
  const stopSweeping = sweepRegularly(sessions, logger);
  return {
    sessions,
    endpoints: [
      ...(view && users
        ? sessionEndpoints({ ...offline, view, users })
        : sessionEndpointsWithoutUsers(offline)),
      ...signingKeyEndpoints({ pool, secretBox, keys, transaction: createAdminTransaction(pool, clock) }),
    ],
    resolveSession: users ? createSessionCredential(sessions, users) : () => undefined,
    stop: stopSweeping,
  };
}

/** The key of refresh tokens follows from that of the installation, which has another use of its own. */
export function refreshKeyFrom(secretsKey: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secretsKey, '', 'coffer refresh tokens', 32));
}

function sweepRegularly(sessions: Sessions, logger: Logger): () => Promise<void> {
  let underWay = Promise.resolve();
  const timer = setInterval(() => {
    underWay = sessions.deleteOld(SWEEP_LIMIT).then(
      () => undefined,
      (error: unknown) => logger.warn({ err: error }, 'old sign-in sessions were not deleted'),
    );
  }, SWEEP_INTERVAL_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    return underWay;
  };
}
