/** Refresh, logout, verification, and the current player. Source: spec, Session verification; contract, section 5. */
import { type Endpoint, endpoint } from '@coffer/http';
import { Rejection } from '@coffer/kernel';
import { z } from 'zod';
import type { UserView, WalletSummary } from '../types.ts';
import { SESSION_LINKS, sessionBody, userBody, verificationBody, walletBody } from './bodies.ts';
import { reject } from './errors.ts';
import { type OfflineVerification, offlineEndpoints } from './offlineRoutes.ts';
import type { Sessions } from './sessions.ts';
import type { SessionUsers, ViewUser } from './sessionUsers.ts';

export interface SessionRoutes extends OfflineVerification {
  readonly sessions: Sessions;
  /** The current user. */
  readonly view: ViewUser;
  /** The same, possibly a moment old. */
  readonly users: SessionUsers;
}

const tokenText = z.string().describe('Any text: one that is no token is answered as a bad one.');

const logoutEndpoint = (sessions: Pick<Sessions, 'logout'>): Endpoint =>
  endpoint({
    method: 'POST',
    path: '/auth/logout',
    credential: 'none',
    browsers: true,
    rateLimit: 'signIn',
    summary: 'End the session of a refresh token',
    description: 'Its access tokens end too. Answers the same for every text.',
    body: z.strictObject({ refreshToken: tokenText }),
    anyText: true,
    success: { status: 204 },
    errors: [],
    handle: async ({ body }) => {
      await sessions.logout(body.refreshToken);
      return { status: 204 };
    },
  });

export const sessionEndpoints = ({
  sessions,
  view,
  users,
  ...offline
}: SessionRoutes): readonly Endpoint[] => [
  ...offlineEndpoints(offline),
  logoutEndpoint(sessions),
  endpoint({
    method: 'POST',
    path: '/auth/refresh',
    credential: 'none',
    browsers: true,
    rateLimit: 'signIn',
    summary: 'Exchange a refresh token for a fresh session',
    description:
      'The answer carries the next refresh token. Until that is used, and 30 seconds longer, the one sent gives the same next one again; used later, it ends the session.',
    body: z.strictObject({ refreshToken: tokenText }),
    anyText: true,
    links: SESSION_LINKS,
    success: { status: 200, schema: sessionBody },
    errors: ['auth/invalid_refresh_token', 'auth/user_suspended'],
    handle: async ({ body, context }) => {
      const holder = await sessions.holderOf(body.refreshToken);
      const viewed = holder && (await view(holder.place, holder.userId, context));
      if (viewed?.standing === 'suspended') throw reject('auth/user_suspended');
      if (holder && viewed?.standing !== 'active') throw reject('auth/invalid_refresh_token');
      // Also without a holder: a reused token ends its session here.
      const { accessToken, refreshToken, expiresAt, place } = await sessions.refresh(body.refreshToken);
      if (!viewed) throw new Error('A refresh token that nobody holds was refreshed.');
      return {
        status: 200,
        body: { accessToken, refreshToken, expiresAt, user: viewed.user },
        readersOf: place,
      };
    },
  }),
  endpoint({
    method: 'POST',
    path: '/sessions/verify',
    credential: 'sk',
    summary: "Verify a player's access token",
    description:
      "The token must be of the key's app and environment. Whatever is wrong with it, the answer is auth/invalid_session.",
    body: z.strictObject({ sessionToken: tokenText }),
    anyText: true,
    links: {
      'GET /users/:userId/accounts': { userId: '$response.body#/userId' },
    },
    success: { status: 200, schema: verificationBody },
    errors: ['auth/invalid_session'],
    handle: async ({ caller, body }) => {
      const session = await sessions.check(body.sessionToken, caller);
      const user = session && (await users.active(session.place, session.userId));
      if (!user) throw new Rejection('auth/invalid_session');
      const { appId, environment } = session.place;
      return {
        status: 200,
        body: {
          userId: user.id,
          appId,
          environment,
          authMethod: session.authMethod,
          walletAddress: activeWallet(user, environment)?.address ?? null,
          wallets: user.wallets,
          identities: user.identities,
        },
      };
    },
  }),
  endpoint({
    method: 'GET',
    path: '/me',
    credential: 'session',
    summary: 'Get the signed-in user and their wallet',
    success: {
      status: 200,
      schema: z.strictObject({ user: userBody, wallet: walletBody.nullable() }),
    },
    errors: [],
    handle: async ({ caller, context }) => {
      const viewed = await view(caller, caller.userId, context);
      if (viewed?.standing !== 'active') throw new Rejection('auth/invalid_session');
      const { user } = viewed;
      return { status: 200, body: { user, wallet: activeWallet(user, caller.environment) ?? null } };
    },
  }),
];

const activeWallet = ({ wallets }: UserView, environment: WalletSummary['environment']) =>
  wallets.find((wallet) => wallet.status === 'active' && wallet.environment === environment);
