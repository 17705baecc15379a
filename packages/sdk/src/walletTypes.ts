/** What the wallets take and answer beyond the API's own resources. Source: docs/api.md, Wallets. */
import type {
  Exported,
  ExportOrder,
  TransactionToSign,
  TreasuryMove,
  WalletBalance,
  Withdrawal,
} from './api.ts';

/** What a wallet holds of something. */
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

/** With `recipientPublicKey`, an X25519 key in base64, the key of the wallet comes sealed for its owner. */
export interface ExportRequest extends ExportOrder {
  readonly walletId: string;
}

/** The exported wallet, with its secret key in base58 or sealed, and the fresh one that takes its place. */
export interface ExportedWallet extends Exported {
  /** Hands the same key out again for 24 hours. */
  readonly idempotencyKey: string;
}
