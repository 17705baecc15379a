/**
 * The wallets group: a player's own wallet, and signatures requested by a backend. Source: docs/api.md,
 * Wallets.
 */
import type { Fields } from './answers.ts';
import type * as api from './api.ts';
import type { Replayable } from './ledgerTypes.ts';
import { bodyOf, readerOf } from './resources.ts';
import type { CallOptions } from './retry.ts';
import { type Call, readBody, segment } from './transport.ts';
import type * as types from './walletTypes.ts';

/**
 * Every call rejects with a `CofferError`. Every write is sent under one idempotencyKey, generated if none is
 * given, until it is answered or the deadline passes.
 */
export interface WalletsClient {
  /** The active one. */
  readonly me: (options?: CallOptions) => Promise<api.Wallet>;
  readonly balance: (walletId: string, options?: CallOptions) => Promise<api.WalletBalance>;
  /** Signs but does not send. */
  readonly sign: (
    request: types.WalletSignRequest,
    options?: CallOptions,
  ) => Promise<api.SignedTransaction & Replayable>;
  /** Answers the move as requested: `withdrawal` reports its outcome. */
  readonly withdraw: (
    request: types.WalletWithdrawRequest,
    options?: CallOptions,
  ) => Promise<api.WalletMove & Replayable>;
  readonly withdrawal: (walletId: string, moveId: string, options?: CallOptions) => Promise<api.WalletMove>;
  readonly exportPreflight: (walletId: string, options?: CallOptions) => Promise<api.ExportPreflight>;
  /** Hands out the wallet's key and makes a fresh wallet. The service can no longer sign with the old one. */
  readonly export: (
    request: types.ExportRequest,
    options?: CallOptions,
  ) => Promise<types.ExportedWallet & Replayable>;
}

export interface ServerWalletsClient {
  /** Only if the app has enabled it. Signs but does not send. */
  readonly sign: (
    request: types.ServerSignRequest,
    options?: CallOptions,
  ) => Promise<api.SignedTransaction & Replayable>;
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
    me: async (options) => ask('/wallets/me', readWallet, options),
    balance: async (walletId, options) => ask(path(walletId, 'balance'), readBalance, options),
    sign: async ({ walletId, ...request }, options) =>
      sign(call, path(walletId, 'sign'), {}, request, options),
    withdraw: async ({ walletId, idempotencyKey = newKey(), ...request }, options) => {
      const body = bodyOf('Withdrawal', { ...request, idempotencyKey });
      return write(call, path(walletId, 'withdraw'), idempotencyKey, body, readMove, options);
    },
    withdrawal: async (walletId, moveId, options) =>
      ask(path(walletId, 'withdrawals', moveId), readMove, options),
    exportPreflight: async (walletId, options) =>
      ask(path(walletId, 'export', 'preflight'), readPreflight, options),
    export: async ({ walletId, idempotencyKey = newKey(), ...request }, options) => {
      const body = bodyOf('ExportOrder', { ...request, idempotencyKey });
      const answer = await write(call, path(walletId, 'export'), idempotencyKey, body, readExported, options);
      return { ...answer, idempotencyKey };
    },
  };
}

const newKey = () => crypto.randomUUID();

const readWallet = readerOf('Wallet');
const readBalance = readerOf('WalletBalance');
const readSigned = readerOf('SignedTransaction');
const readMove = readerOf('WalletMove');
const readPreflight = readerOf('ExportPreflight');
const readExported = readerOf('Exported');

/** Sends a write under the key in its body. */
async function write<Answer>(
  call: Call,
  path: string,
  idempotencyKey: string,
  body: Readonly<Record<string, unknown>>,
  read: (answer: Fields) => Answer,
  options: CallOptions | undefined,
): Promise<Answer & Replayable> {
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
    idempotencyKey,
    { ...owner, ...bodyOf('TransactionToSign', { transaction, idempotencyKey }) },
    readSigned,
    options,
  );
