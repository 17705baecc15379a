/** Signatures for players, and for an app's server if the app has switched that on. */
import { type Endpoint, endpoint, type RequestContext } from '@coffer/http';
import { type AppPlace, addressText, type Clock, idText, longCallerId, type UserPlace } from '@coffer/kernel';
import { z } from 'zod';
import { reject } from './errors.ts';
import { requireRecent } from './recentSignIn.ts';
import type { SignTransaction } from './signing.ts';
import type { WalletView } from './wallet.resource.ts';
import type { Wallets } from './wallets.ts';

export interface SigningRoutes {
  readonly sign: SignTransaction;
  /** Throws `users/not_found`, `users/suspended`. */
  readonly requireActive: (place: UserPlace, context: RequestContext) => Promise<unknown>;
  /** Throws `users/not_found`; whether the user is suspended plays no part. */
  readonly requireKnown: (place: UserPlace, context: RequestContext) => Promise<unknown>;
  readonly wallets: Pick<Wallets, 'walletsOf'>;
  readonly settingsOf: (place: Pick<AppPlace, 'appId' | 'environment'>) => Promise<{
    readonly serverSigningEnabled: boolean;
    readonly programAllowList: readonly string[];
  }>;
  readonly clock: Clock;
  /** How recent a player's sign-in must be to move value out. */
  readonly withdrawStepUpSeconds: (
    place: Pick<AppPlace, 'appId' | 'environment'>,
  ) => Promise<number | 'off'> | number | 'off';
}

/** The canonical base64 of whole bytes. */
const BASE64 = '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$';
const signBody = z.strictObject({
  transaction: z
    .string()
    // A packet in base64. Anything longer is refused by its size; this only bounds what is looked at.
    .max(8_192)
    .meta({
      description: 'The transaction in base64: legacy or version 0, at most 1,232 bytes.',
      pattern: BASE64,
      minLength: 4,
      maxLength: 1_644,
      example: 'AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    }),
  idempotencyKey: longCallerId.optional(),
});

const success = {
  status: 200,
  schema: z.strictObject({
    signedTransaction: z.string().describe('Base64: the transaction with the signature in its place.'),
    signature: z.string().describe("The wallet's signature, in base58."),
    publicKey: addressText,
  }),
} as const;

const errors = [
  'users/not_found',
  'wallets/not_found',
  'wallets/idempotency_conflict',
  'wallets/not_active',
  'users/suspended',
  'wallets/invalid_transaction',
  'wallets/transaction_refused',
  'wallets/simulation_failed',
  'wallets/keys_unavailable',
  'chain/not_configured',
  'chain/unreachable',
] as const;

export const signingEndpoints = (routes: SigningRoutes): readonly Endpoint[] => [
  serverSignEndpoint(routes),
  endpoint({
    method: 'POST',
    path: '/wallets/:walletId/sign',
    credential: 'session',
    summary: "Sign a transaction with the player's wallet",
    description: 'Signs and does not send. With an idempotencyKey, a repeat gets the first answer.',
    body: signBody,
    idempotencyHeader: { insteadOf: 'idempotencyKey' },
    success,
    errors: [...errors, 'auth/reauthentication_required'],
    handle: async ({ caller, params, body, context }) => {
      const owned = await routes.wallets.walletsOf(caller, context);
      const wallet = owned.find(({ id }) => id === params.walletId);
      if (!wallet) throw reject('wallets/not_found');
      return signedReply(routes, {
        place: caller,
        wallet,
        operation: 'sign',
        askedBy: `user:${caller.userId}`,
        body,
        programAllowList: undefined,
        requireRecent: async () =>
          requireRecent(caller, await routes.withdrawStepUpSeconds(caller), routes.clock),
        context,
      });
    },
  }),
];

const serverSignEndpoint = (routes: SigningRoutes): Endpoint =>
  endpoint({
    method: 'POST',
    path: '/wallets/sign',
    credential: 'sk',
    summary: "Sign a transaction with a user's wallet, without a player's session",
    description:
      'Only if the app has switched it on, and only calls of known programs and of those in its programAllowList. Signs and does not send.',
    admit: async ({ appId, environment }) => {
      const { serverSigningEnabled } = await routes.settingsOf({ appId, environment });
      if (!serverSigningEnabled) throw reject('wallets/server_signing_disabled');
    },
    body: signBody.extend({ userId: idText('usr') }),
    idempotencyHeader: { insteadOf: 'idempotencyKey' },
    success,
    errors: [
      'wallets/server_signing_disabled',
      'wallets/no_wallet',
      ...errors,
      'wallets/program_not_allowed',
    ],
    handle: async ({ caller, body: { userId, ...body }, context }) => {
      const { appId, scopeId, environment } = caller;
      const place = { appId, scopeId, environment, userId };
      await routes.requireKnown(place, context);
      const owned = await routes.wallets.walletsOf(place, context);
      const wallet = owned.find(({ status }) => status === 'active');
      if (!wallet) throw reject('wallets/no_wallet');
      const { programAllowList } = await routes.settingsOf(place);
      return signedReply(routes, {
        place,
        wallet,
        operation: 'serverSign',
        askedBy: `app:${appId}`,
        body,
        programAllowList,
        // A server has no sign-in that could be old.
        requireRecent: async () => undefined,
        context,
      });
    },
  });

async function signedReply(
  { sign, requireActive }: SigningRoutes,
  {
    place,
    wallet,
    body,
    context,
    ...request
  }: {
    readonly place: UserPlace;
    readonly wallet: WalletView;
    readonly operation: 'sign' | 'serverSign';
    readonly askedBy: string;
    readonly body: z.infer<typeof signBody>;
    readonly programAllowList: readonly string[] | undefined;
    readonly requireRecent: () => Promise<void>;
    readonly context: RequestContext;
  },
) {
  const { actor, requestId } = context;
  const { id, address, status } = wallet;
  const reply = await sign({
    ...request,
    wallet: { place: { ownerId: place.scopeId, environment: place.environment, walletId: id }, address },
    transaction: body.transaction,
    idempotencyKey: body.idempotencyKey,
    opening: { actor, requestId },
    requireActive: async () => {
      if (status !== 'active') throw reject('wallets/not_active', { status });
      await requireActive(place, context);
    },
  });
  return { status: 200, ...reply };
}
