export { MAX_AMOUNT } from './amounts.ts';
export type { Open } from './answers.ts';
export type * from './api.ts';
export * from './backend.ts';
export { CofferError, type SdkErrorCode, sdkErrors } from './cofferError.ts';
export type { CreditedPool, CustodyClient, PoolsQuery, StakesQuery } from './custody.ts';
export { type EventOrder, NOTHING_RECEIVED, type ReceivedEvents } from './eventOrder.ts';
export type { FeedClient, FeedOptions } from './feed.ts';
export { ownsWallet } from './identity.ts';
export type { LedgerClient } from './ledger.ts';
export type * from './ledgerTypes.ts';
export type { Fetch, FetchAnswer, FetchInit, Signal } from './platform.ts';
export * from './player.ts';
export type { PollOptions } from './polling.ts';
export type { HistoryQuery, OwnReferralsClient, ReferralsClient } from './referrals.ts';
export type { CallOptions, RetryOptions, Timing } from './retry.ts';
export { type PoolRake, type PoolSplit, type PoolStake, splitPool } from './splitPool.ts';
export { memoryTokenStore, type TokenStore, type Tokens } from './tokens.ts';
export type { SettledMove, TreasuryClient } from './treasury.ts';
export type { ServerWalletsClient, WalletsClient } from './wallets.ts';
export type * from './walletTypes.ts';
export type { AppEvent, TestWebhookEvent, WebhookEvent, WebhookEventType } from './webhookEvents.ts';
export {
  type FetchRequest,
  type RawRequest,
  type VerifyOptions,
  type WebhookHeaders,
  webhooks,
} from './webhooks.ts';
