/** The endpoints that sign, over HTTP, on a real database and whatever chain a spec provides. */
import type { AppCaller, SessionCaller } from '@coffer/http';
import { serve } from '@coffer/http/testing';
import { Rejection } from '@coffer/kernel';
import { type Chain, ChainUnreachableError, chainErrors } from '@coffer/solana';
import { createTestDatabase } from '@coffer/testing';
import { walletsErrors } from '../errors.ts';
import { DEFAULT_SIGNING_LIMITS } from '../policy/limits.ts';
import { createTransactionSigning } from '../signing.ts';
import { signingEndpoints } from '../signingRoutes.ts';
import { contextOf, firstKeys, newOwner, startWalletWorld, walletTemplate } from './walletProcesses.ts';

export const PLAYER = 'player.of.spec';
export const OTHER_PLAYER = 'other.player.spec';

/** What a spec changes while the endpoints serve. */
export interface SigningSettings {
  /** Throws if there is none. */
  chainOf: (environment: 'test' | 'live') => Chain;
  isSuspended: boolean;
  serverSigningEnabled: boolean;
  /** Its app is `app_1`. */
  programAllowList: readonly string[];
  withdrawStepUpSeconds: number | 'off';
  /** Players signed in at `SIGNED_IN_AT`. */
  now: Date;
}

export const SIGNED_IN_AT = '2026-03-01T12:00:00.000Z';

export interface SigningAnswer {
  readonly status: number;
  readonly text: string;
  readonly json: Record<string, unknown>;
  readonly replayed: string | null;
}

/** The error of the auth context, which knows how somebody signs in. */
const authErrors = {
  'auth/reauthentication_required': { status: 403, message: 'The sign-in is too old for this.' },
};

/** The errors of the users context, which knows who is suspended. */
const usersErrors = {
  'users/not_found': { status: 404, message: 'There is no such user.' },
  'users/suspended': { status: 403, message: 'The user is suspended.' },
};

export const inBase64 = (wire: Uint8Array): string => Buffer.from(wire).toString('base64');

export async function startSigningWorld() {
  const world = startWalletWorld(await createTestDatabase(walletTemplate));
  const { signer, wallets } = await world.start(firstKeys());
  const owner = newOwner();
  const { scopeId } = owner;
  const other = newOwner({ scopeId });
  const wallet = await wallets.provision(owner, contextOf());
  const others = await wallets.provision(other, contextOf());
  const settings: SigningSettings = {
    chainOf: () => {
      throw new Error('The spec has brought no chain.');
    },
    isSuspended: false,
    serverSigningEnabled: true,
    programAllowList: [],
    withdrawStepUpSeconds: 'off',
    now: new Date(SIGNED_IN_AT),
  };

  const sessions: Readonly<Record<string, SessionCaller>> = {
    [PLAYER]: sessionOf(scopeId, owner.userId),
    [OTHER_PLAYER]: sessionOf(scopeId, other.userId),
  };
  const keys: Readonly<Record<string, AppCaller>> = {
    sk_test_1: keyOf(scopeId, 'app_1'),
    sk_test_2: keyOf(scopeId, 'app_2'),
  };
  const requireKnown = async ({ userId }: { readonly userId: string }) => {
    if (userId !== owner.userId && userId !== other.userId) throw new Rejection('users/not_found');
  };
  const server = await serve({
    endpoints: signingEndpoints({
      sign: createTransactionSigning({
        pool: world.pool,
        signer,
        chainOf: (environment) => settings.chainOf(environment),
        limits: DEFAULT_SIGNING_LIMITS,
      }),
      requireKnown,
      requireActive: async (place) => {
        await requireKnown(place);
        if (settings.isSuspended) throw new Rejection('users/suspended');
      },
      wallets,
      settingsOf: async ({ appId }) => ({
        serverSigningEnabled: settings.serverSigningEnabled,
        programAllowList: appId === 'app_1' ? settings.programAllowList : [],
      }),
      clock: () => settings.now,
      withdrawStepUpSeconds: () => settings.withdrawStepUpSeconds,
    }),
    catalog: { ...walletsErrors, ...authErrors, ...usersErrors, ...chainErrors },
    errorOf: (error) => (error instanceof ChainUnreachableError ? { code: 'chain/unreachable' } : undefined),
    resolveKey: (token) => keys[token],
    resolveSession: (token) => sessions[token],
  });

  const send = async (
    path: string,
    token: string,
    body: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<SigningAnswer> => {
    const response = await fetch(`${server.url}/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...headers },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    return {
      status: response.status,
      text,
      json: JSON.parse(text),
      replayed: response.headers.get('idempotency-replayed'),
    };
  };
  const openings = async () => {
    const { rows } = await world.pool.query<{ purpose: string; actor: string; wallet_id: string }>(
      'select wallet_id, actor, purpose from records.wallets_key_openings order by opening_id',
    );
    return rows;
  };

  return {
    pool: world.pool,
    settings,
    owner,
    wallet,
    others,
    wallets,
    send,
    asPlayer: (wire: Uint8Array, more: object = {}, headers: Readonly<Record<string, string>> = {}) =>
      send(`/wallets/${wallet.id}/sign`, PLAYER, { transaction: inBase64(wire), ...more }, headers),
    asServer: (wire: Uint8Array, more: object = {}, key = 'sk_test_1') =>
      send('/wallets/sign', key, { userId: owner.userId, transaction: inBase64(wire), ...more }),
    openings,
    async stop() {
      await server.stop(0);
      await world.stop();
    },
  };
}

export type SigningWorld = Awaited<ReturnType<typeof startSigningWorld>>;

const sessionOf = (scopeId: string, userId: string): SessionCaller => ({
  kind: 'session',
  userId,
  sessionId: 'sid_1',
  appId: 'app_1',
  scopeId,
  environment: 'test',
  authenticatedAt: SIGNED_IN_AT,
});

const keyOf = (scopeId: string, appId: string): AppCaller => ({
  kind: 'secret',
  appId,
  scopeId,
  environment: 'test',
  keyId: `key_${appId}`,
});
