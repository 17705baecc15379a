export { MAX_AMOUNT } from './amounts.ts';
export * from './backend.ts';
export { CofferError, type SdkErrorCode, sdkErrors } from './cofferError.ts';
export {
  type Identity,
  ownsWallet,
  type User,
  type VerifiedSession,
  type WalletSummary,
} from './identity.ts';
export type { LedgerClient } from './ledger.ts';
export type * from './ledgerTypes.ts';
export type { Move, TreasuryMove, WalletMove } from './moves.ts';
export type { Fetch, FetchAnswer, FetchInit, Signal } from './platform.ts';
export * from './player.ts';
export type { CallOptions, RetryOptions, Timing } from './retry.ts';
export { memoryTokenStore, type TokenStore, type Tokens } from './tokens.ts';
export type {
  SettledMove,
  SettledOptions,
  TransferRequest,
  TreasuryBalance,
  TreasuryBalanceRequest,
  TreasuryClient,
} from './treasury.ts';
export type { ServerWalletsClient, WalletsClient } from './wallets.ts';
export type * from './walletTypes.ts';
