/**
 * What the wallet calls take and answer in addition to the API's own resources. Source: docs/api.md, Wallets.
 */
import type {
  Exported,
  ExportOrder,
  TransactionToSign,
  TreasuryMove,
  WalletBalance,
  Withdrawal,
} from './api.ts';

/** A wallet's holding of one asset. */
export type Holding = Omit<WalletBalance['native'], 'symbol'>;

/** A transfer on the chain. */
export type Move = Omit<TreasuryMove, 'ref'>;

export interface WalletSignRequest extends TransactionToSign {
  readonly walletId: string;
}
export interface ServerSignRequest extends TransactionToSign {
  /** The player, whose active wallet signs. */
  readonly userId: string;
}

/** SOL is sent unless `currency`, one of the app's currencies by its id, or `mint` is given. */
export interface WalletWithdrawRequest extends Withdrawal {
  readonly walletId: string;
}

/** With `recipientPublicKey`, an X25519 key in base64, the wallet's key is sealed for its owner. */
export interface ExportRequest extends ExportOrder {
  readonly walletId: string;
}

/** The exported wallet, with its secret key in base58 or sealed, and the fresh one that replaces it. */
export interface ExportedWallet extends Exported {
  /** Returns the same key again for 24 hours. */
  readonly idempotencyKey: string;
}
