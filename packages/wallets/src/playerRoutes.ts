/** What players do with their own wallets. Source: specification, Wallets; contract, Wallets. */
import { requestedBy } from '@coffer/event-store';
import { type Endpoint, endpoint, type SessionCaller } from '@coffer/http';
import {
  ADDRESS_SCHEMA,
  addressText,
  type Clock,
  isoTimeOf,
  longCallerId,
  mintText,
  positiveAmount,
} from '@coffer/kernel';
import { walletMove, walletMoveBody } from '@coffer/moves';
import { z } from 'zod';
import type { ChainWallets, PlayerPlace } from './chainWallets.ts';
import { reject } from './errors.ts';
import type { ExportGuard } from './exportGuard.ts';
import type { Exports } from './exports.ts';
import { requireRecent } from './recentSignIn.ts';
import {
  exportedWallet,
  exportPreflight,
  exportPreflightBody,
  playerWallet,
  walletBalance,
  walletBalanceBody,
} from './wallet.resource.ts';
import type { Wallets } from './wallets.ts';

export interface PlayerWalletRoutes {
  readonly wallets: Pick<Wallets, 'walletsOf'>;
  readonly chainWallets: ChainWallets;
  readonly exports: Exports;
  readonly exportGuard: ExportGuard;
  readonly clock: Clock;
  /** How recent a sign-in must be for a withdrawal. */
  readonly withdrawStepUpSeconds: (
    caller: Pick<SessionCaller, 'appId' | 'environment'>,
  ) => Promise<number | 'off'> | number | 'off';
}

/** The canonical base64 of 32 bytes. */
const x25519PublicKey = z
  .string()
  .regex(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/, 'must be 32 bytes in base64')
  .meta({ example: 'hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=' });

export function playerWalletEndpoints(routes: PlayerWalletRoutes): readonly Endpoint[] {
  const { wallets, chainWallets, exports, exportGuard, clock } = routes;
  return [
    endpoint({
      method: 'GET',
      path: '/wallets/me',
      credential: 'session',
      summary: "Get the caller's active wallet",
      links: {
        'GET /wallets/:walletId/balance': { walletId: '$response.body#/id' },
        'POST /wallets/:walletId/withdraw': { walletId: '$response.body#/id' },
        'GET /wallets/:walletId/export/preflight': { walletId: '$response.body#/id' },
        'POST /wallets/:walletId/export': { walletId: '$response.body#/id' },
        'POST /wallets/:walletId/sign': { walletId: '$response.body#/id' },
      },
      success: { status: 200, schema: playerWallet },
      errors: ['wallets/not_found'],
      handle: async ({ caller, context }) => {
        const owned = await wallets.walletsOf(placeOf(caller), context);
        const active = owned.find(({ status }) => status === 'active');
        if (!active) throw reject('wallets/not_found');
        return { status: 200, body: active };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/wallets/:walletId/balance',
      credential: 'session',
      summary: 'Get what a wallet holds on the chain',
      description:
        'Read from the chain each time, at commitment "confirmed". Tokens carry the code of the app\'s currency for their mint, or null if there is none.',
      success: { status: 200, schema: walletBalance },
      errors: ['wallets/not_found', 'chain/not_configured', 'chain/unreachable'],
      handle: async ({ caller, params, context }) => {
        const body = await chainWallets.balance(placeOf(caller), params.walletId, context);
        return { status: 200, body: walletBalanceBody(body) };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/wallets/:walletId/withdraw',
      credential: 'session',
      summary: "Send from the caller's wallet to an address",
      description:
        'Answers the move as it was requested; GET /wallets/:walletId/withdrawals/:moveId shows its outcome. The player does not pay network fees.',
      body: z
        .strictObject({
          idempotencyKey: longCallerId,
          toAddress: addressText,
          amount: positiveAmount,
          currency: z.int().min(1).optional(),
          mint: mintText.optional(),
        })
        .refine(({ currency, mint: wanted }) => currency === undefined || wanted === undefined, {
          path: ['mint'],
          message: 'must not be given together with currency',
        })
        .meta({
          example: {
            idempotencyKey: 'withdrawal-1',
            toAddress: ADDRESS_SCHEMA.example,
            amount: '1000000',
            currency: 1,
          },
        }),
      idempotencyHeader: { insteadOf: 'idempotencyKey' },
      links: {
        'GET /wallets/:walletId/withdrawals/:moveId': {
          walletId: '$request.path.walletId',
          moveId: '$response.body#/moveId',
        },
        'GET /wallets/:walletId/balance': { walletId: '$request.path.walletId' },
      },
      success: { status: 200, schema: walletMove },
      errors: [
        'wallets/not_found',
        'wallets/unknown_currency',
        'wallets/idempotency_conflict',
        'auth/reauthentication_required',
        'wallets/not_active',
        'wallets/currency_not_on_chain',
        'wallets/own_address',
        'wallets/invalid_address',
        'wallets/mint_not_supported',
        'wallets/account_frozen',
        'wallets/insufficient_funds',
        'wallets/below_rent_minimum',
        'wallets/rent_not_sponsored',
        'chain/not_configured',
        'chain/unreachable',
      ],
      handle: async ({ caller, params, body, context }) => {
        const { answer, replayed } = await chainWallets.withdraw(
          placeOf(caller),
          params.walletId,
          body,
          async () => requireRecent(caller, await routes.withdrawStepUpSeconds(caller), clock),
          requestedBy(context, isoTimeOf(clock)),
        );
        return { status: 200, body: walletMoveBody(answer), replayed };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/wallets/:walletId/withdrawals/:moveId',
      credential: 'session',
      summary: 'Get the state of a withdrawal',
      success: { status: 200, schema: walletMove },
      errors: ['wallets/not_found', 'wallets/withdrawal_not_found'],
      handle: async ({ caller, params: { walletId, moveId }, context }) => ({
        status: 200,
        body: walletMoveBody(await chainWallets.withdrawal(placeOf(caller), walletId, moveId, context)),
      }),
    }),
    endpoint({
      method: 'GET',
      path: '/wallets/:walletId/export/preflight',
      credential: 'session',
      summary: 'Ask whether the wallet can be exported now',
      links: {
        'POST /wallets/:walletId/export': { walletId: '$request.path.walletId' },
      },
      success: { status: 200, schema: exportPreflight },
      errors: [
        'wallets/not_found',
        'wallets/not_active',
        'chain/not_configured',
        'chain/unreachable',
        'service/not_ready',
      ],
      handle: async ({ caller, params, context }) => {
        const owned = await wallets.walletsOf(placeOf(caller), context);
        const wallet = owned.find(({ id }) => id === params.walletId);
        if (!wallet) throw reject('wallets/not_found');
        if (wallet.status !== 'active') throw reject('wallets/not_active', { status: wallet.status });
        return { status: 200, body: exportPreflightBody(await exportGuard.look(caller, wallet, context)) };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/wallets/:walletId/export',
      credential: 'session',
      summary: "Export the key of the caller's wallet, and get a new wallet",
      description:
        'The key is handed out again for 24 hours under the same idempotencyKey, and then destroyed. With recipientPublicKey (X25519) it is sealed: sealedSecretKey is the base64 of an ephemeral public key (32 bytes), a nonce (24) and a nacl box. Without it, secretKey is the base58 of the 64 bytes that wallets import.',
      body: z.strictObject({
        idempotencyKey: longCallerId,
        recipientPublicKey: x25519PublicKey.optional(),
      }),
      idempotencyHeader: { insteadOf: 'idempotencyKey' },
      links: {
        'GET /wallets/:walletId/balance': { walletId: '$response.body#/wallet/id' },
      },
      success: { status: 200, schema: exportedWallet },
      errors: [
        'wallets/not_found',
        'wallets/idempotency_conflict',
        'wallets/export_expired',
        'wallets/not_active',
        'wallets/invalid_recipient_key',
        'auth/reauthentication_required',
        'wallets/export_not_allowed',
        'wallets/keys_unavailable',
        'chain/not_configured',
        'chain/unreachable',
        'service/not_ready',
      ],
      handle: async ({ caller, params, body, context }) => {
        const { answer, replayed } = await exports.exportWallet(
          placeOf(caller),
          {
            walletId: params.walletId,
            idempotencyKey: body.idempotencyKey,
            recipientPublicKey: body.recipientPublicKey ?? null,
          },
          (wallet) => exportGuard.requireAllowed(caller, wallet, context),
          requestedBy(context, isoTimeOf(clock)),
        );
        return { status: 200, body: answer, replayed };
      },
    }),
  ];
}

const placeOf = ({ environment, scopeId, userId, appId }: SessionCaller): PlayerPlace => ({
  environment,
  scopeId,
  userId,
  appId,
});
