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
export * from './player.ts';
export type { CallOptions, RetryOptions, Timing } from './retry.ts';
export { memoryTokenStore, type TokenStore, type Tokens } from './tokens.ts';
export type { Fetch } from './transport.ts';
