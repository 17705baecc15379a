/** Who a player is: identities and the people behind them, the ways to sign in, and the sessions that follow. */
import { hkdfSync } from 'node:crypto';
import { defineContext, type Platform, someStream } from '@coffer/host';
import { type AppDirectory, createAdminTransaction } from '@coffer/portal';
import { type AppMethodsNeeds, createAppMethods } from './appMethods.ts';
import { identity } from './identities/domain/identity.ts';
import { createIdentityFlows, type IdentityFlowNeeds } from './identities/index.ts';
import { operatorStandingEndpoints } from './identities/operatorRoutes.ts';
import { authMethodsErrors } from './methods/index.ts';
import { authMigrations } from './migrations.ts';
import {
  createSessionCredential,
  createSessions,
  createSessionUsers,
  createSigningKeys,
  DEFAULT_ISSUER,
  sessionEndpoints,
  sessionsErrors,
  signingKeyEndpoints,
} from './sessions/index.ts';
import { type AttributeByCodes, createSignIn, SIGN_IN_ERRORS } from './signIn.ts';
import { sweepSessions } from './sweepSessions.ts';

export interface AuthNeeds
  extends Platform,
    Pick<IdentityFlowNeeds, 'users' | 'identityWallets' | 'identityKey'>,
    Pick<AppMethodsNeeds, 'mail' | 'acceptsLoopback'> {
  readonly directory: AppDirectory;
  readonly attributeByCodes?: AttributeByCodes;
}

export const authContext = defineContext({
  name: 'auth',
  errors: { ...authMethodsErrors, ...sessionsErrors },
  migrations: [authMigrations],
  streams: [someStream(identity)],
  create(needs: AuthNeeds) {
    const { pool, clock, logger, secretsKey, secretBox, publicOrigin, ownOrigin, directory, users } = needs;
    const { identities, erasure, reactions } = createIdentityFlows(needs);

    const nowMs = () => performance.now();
    const issuer = publicOrigin ?? DEFAULT_ISSUER;
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
    const { view } = identities;
    const sessionUsers = createSessionUsers(view, nowMs);
    const origin = () => {
      const known = publicOrigin ?? ownOrigin();
      if (known === undefined) throw new Error('A service that does not listen was asked for its address.');
      return known;
    };

    const signIn = createSignIn({ identities, sessions, attributeByCodes: needs.attributeByCodes });
    const methods = createAppMethods(needs, { signIn, signInErrors: SIGN_IN_ERRORS });

    return {
      provides: { sessions },
      serves: { resolveSession: createSessionCredential(sessions, sessionUsers) },
      endpoints: [
        ...methods.endpoints,
        ...sessionEndpoints({ sessions, keys, issuer, origin, view, users: sessionUsers }),
        ...signingKeyEndpoints({ pool, secretBox, keys, transaction: createAdminTransaction(pool, clock) }),
        ...operatorStandingEndpoints({ directory, users, erasure, sessions, clock }),
      ],
      reactions: { identities: reactions },
      workers: [{ start: () => ({ stop: sweepSessions(sessions, logger) }) }, { start: methods.start }],
    };
  },
});

/** The refresh token key is derived from the installation's key, which also has a use of its own. */
export function refreshKeyFrom(secretsKey: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secretsKey, '', 'coffer refresh tokens', 32));
}
