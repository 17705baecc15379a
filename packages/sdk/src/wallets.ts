/** The wallets group: a player's own, and signatures that a backend asks for. Source: docs/api.md, Wallets. */
import { encodeAmount } from './amounts.ts';
import type { Fields } from './answers.ts';
import { encodeBase64 } from './base64.ts';
import { readWallet } from './identity.ts';
import type { Replayable } from './ledgerTypes.ts';
import { readWalletMove, type WalletMove } from './moves.ts';
import type { CallOptions } from './retry.ts';
import { type Call, readBody, segment } from './transport.ts';
import type * as types from './walletTypes.ts';

/**
 * Every call rejects with a `CofferError`. Every write is sent under one idempotencyKey, made when it is not given,
 * until it is answered or the deadline comes.
 */
export interface WalletsClient {
  /** The active one. */
  readonly me: (options?: CallOptions) => Promise<types.Wallet>;
  readonly balance: (walletId: string, options?: CallOptions) => Promise<types.WalletBalance>;
  /** Signs and does not send. */
  readonly sign: (
    request: types.WalletSignRequest,
    options?: CallOptions,
  ) => Promise<types.SignedTransaction & Replayable>;
  /** Answers the move as it was requested: `withdrawal` tells what became of it. */
  readonly withdraw: (
    request: types.WalletWithdrawRequest,
    options?: CallOptions,
  ) => Promise<WalletMove & Replayable>;
  readonly withdrawal: (walletId: string, moveId: string, options?: CallOptions) => Promise<WalletMove>;
  readonly exportPreflight: (walletId: string, options?: CallOptions) => Promise<types.ExportPreflight>;
  /** Hands out the key of the wallet and makes a fresh wallet. The service cannot sign with the old one any more. */
  readonly export: (
    request: types.ExportRequest,
    options?: CallOptions,
  ) => Promise<types.ExportedWallet & Replayable>;
}

export interface ServerWalletsClient {
  /** Only where the app has switched it on. Signs and does not send. */
  readonly sign: (
    request: types.ServerSignRequest,
    options?: CallOptions,
  ) => Promise<types.SignedTransaction & Replayable>;
}

export function createServerWalletsClient(call: Call): ServerWalletsClient {
  return {
    sign: async ({ userId, ...request }, options) =>
      sign(call, '/wallets/sign', { userId }, request, options),
  };
}

export function createWalletsClient(call: Call): WalletsClient {
  const path = (walletId: string, ...steps: readonly string[]) =>
    ['/wallets', ...[walletId, ...steps].map(segment)].join('/');
  const ask = async <Answer>(
    path: string,
    read: (answer: Fields) => Answer,
    options: CallOptions | undefined,
  ): Promise<Answer> => readBody(await call({ method: 'GET', path }, options), read);

  return {
    me: async (options) => ask('/wallets/me', readFullWallet, options),
    balance: async (walletId, options) => ask(path(walletId, 'balance'), readBalance, options),
    sign: async ({ walletId, ...request }, options) =>
      sign(call, path(walletId, 'sign'), {}, request, options),
    withdraw: async ({ walletId, toAddress, amount, currency, mint, idempotencyKey = newKey() }, options) => {
      const body = {
        idempotencyKey,
        toAddress,
        amount: encodeAmount(amount),
        ...(currency !== undefined && { currency }),
        ...(mint !== undefined && { mint }),
      };
      return write(call, path(walletId, 'withdraw'), body, readWalletMove, options);
    },
    withdrawal: async (walletId, moveId, options) =>
      ask(path(walletId, 'withdrawals', moveId), readWalletMove, options),
    exportPreflight: async (walletId, options) =>
      ask(path(walletId, 'export', 'preflight'), readPreflight, options),
    export: async ({ walletId, recipientPublicKey, idempotencyKey = newKey() }, options) => {
      const body = { idempotencyKey, ...(recipientPublicKey !== undefined && { recipientPublicKey }) };
      const answer = await write(call, path(walletId, 'export'), body, readExported, options);
      return { ...answer, idempotencyKey };
    },
  };
}

const newKey = () => crypto.randomUUID();

/** Sends a write under the key in its body. */
async function write<Answer>(
  call: Call,
  path: string,
  body: { readonly idempotencyKey: string } & Readonly<Record<string, unknown>>,
  read: (answer: Fields) => Answer,
  options: CallOptions | undefined,
): Promise<Answer & Replayable> {
  const { idempotencyKey } = body;
  const reply = await call({ method: 'POST', path, body, key: { idempotencyKey } }, options);
  return { ...readBody(reply, read), replayed: reply.replayed };
}

const sign = (
  call: Call,
  path: string,
  owner: { readonly userId?: string },
  { transaction, idempotencyKey = newKey() }: Omit<types.WalletSignRequest, 'walletId'>,
  options: CallOptions | undefined,
) =>
  write(
    call,
    path,
    { ...owner, transaction: encodeBase64(transaction), idempotencyKey },
    readSigned,
    options,
  );

const readFullWallet = (answer: Fields): types.Wallet => ({
  ...readWallet(answer),
  userId: answer.text('userId'),
  createdAt: answer.text('createdAt'),
});

const readHolding = (holding: Fields): types.Holding => ({
  amount: holding.figure('amount'),
  decimals: holding.number('decimals'),
  currency: holding.nullable('currency', holding.text),
  currencyId: holding.nullable('currencyId', holding.number),
});

const readBalance = (answer: Fields): types.WalletBalance => {
  const native = answer.object('native');
  return {
    walletId: answer.text('walletId'),
    address: answer.text('address'),
    environment: answer.oneOf('environment', ['test', 'live']),
    native: { symbol: native.text('symbol'), ...readHolding(native) },
    tokens: answer.list('tokens', (token) => ({ mint: token.text('mint'), ...readHolding(token) })),
  };
};

const readSigned = (answer: Fields): types.SignedTransaction => ({
  signedTransaction: answer.bytes('signedTransaction'),
  signature: answer.text('signature'),
  publicKey: answer.text('publicKey'),
});

const readPreflight = (answer: Fields): types.ExportPreflight => ({
  allowed: answer.boolean('allowed'),
  reasons: answer.texts('reasons'),
  floor: answer.list('floor', (floor) => ({
    currency: floor.text('currency'),
    minimum: floor.figure('minimum'),
    balance: floor.figure('balance'),
  })),
});

const readExported = (answer: Fields): Omit<types.ExportedWallet, 'idempotencyKey'> => {
  const exported = answer.object('exported');
  return {
    exported: {
      id: exported.text('id'),
      address: exported.text('address'),
      secretKey: exported.optionalText('secretKey'),
      sealedSecretKey: exported.optionalText('sealedSecretKey'),
    },
    wallet: readFullWallet(answer.object('wallet')),
  };
};
