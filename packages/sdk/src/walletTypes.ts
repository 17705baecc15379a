/** The wallets' shapes as the SDK hands them out. Amounts are bigint base units. Source: docs/api.md, Wallets. */
import type { Open, WalletSummary } from './identity.ts';

/** A player's custodial wallet. */
export interface Wallet extends WalletSummary {
  readonly userId: string;
  readonly createdAt: string;
}

/** What a wallet holds of something. */
export interface Holding {
  readonly amount: bigint;
  readonly decimals: number;
  /** The code and the id of the app's currency; null where it has none for it. */
  readonly currency: string | null;
  readonly currencyId: number | null;
}

/** As the chain has it now, at commitment `confirmed`. */
export interface WalletBalance {
  readonly walletId: string;
  readonly address: string;
  readonly environment: 'test' | 'live';
  readonly native: Holding & { readonly symbol: string };
  readonly tokens: readonly (Holding & { readonly mint: string })[];
}

interface ToSign {
  /** The bytes of a transaction: legacy or version 0, at most 1,232. */
  readonly transaction: Uint8Array;
  /** Made when it is not given, once for all attempts of the call. */
  readonly idempotencyKey?: string;
}
export interface WalletSignRequest extends ToSign {
  readonly walletId: string;
}
export interface ServerSignRequest extends ToSign {
  /** The player, whose active wallet signs. */
  readonly userId: string;
}
export interface SignedTransaction {
  /** The bytes with the signature in its place. Nobody has sent them. */
  readonly signedTransaction: Uint8Array;
  /** Of the wallet, in base58. */
  readonly signature: string;
  /** Of the wallet, in base58. */
  readonly publicKey: string;
}

export interface WalletWithdrawRequest {
  readonly walletId: string;
  readonly toAddress: string;
  readonly amount: bigint;
  /** What to send: one of the app's currencies by its id, or any mint. SOL unless one of them is given. */
  readonly currency?: number;
  readonly mint?: string;
  readonly idempotencyKey?: string;
}

export interface ExportPreflight {
  readonly allowed: boolean;
  /** Why not, as far as it can be known before the export itself. */
  readonly reasons: readonly Open<'below_floor' | 'moves_in_flight' | 'reauthentication_required'>[];
  /** What the wallet must hold of a currency, and what it holds. */
  readonly floor: readonly {
    readonly currency: string;
    readonly minimum: bigint;
    readonly balance: bigint;
  }[];
}
export interface ExportRequest {
  readonly walletId: string;
  /** An X25519 key in base64. With it the key of the wallet comes sealed, and only its owner can open it. */
  readonly recipientPublicKey?: string;
  readonly idempotencyKey?: string;
}
export interface ExportedWallet {
  readonly exported: {
    readonly id: string;
    readonly address: string;
    /** Base58 of the 64 bytes that wallets import; absent when it is sealed. */
    readonly secretKey: string | undefined;
    /** Base64: an ephemeral public key (32 bytes), a nonce (24) and a nacl box. */
    readonly sealedSecretKey: string | undefined;
  };
  /** The fresh one that takes its place. */
  readonly wallet: Wallet;
  /** Hands the same key out again for 24 hours. */
  readonly idempotencyKey: string;
}
