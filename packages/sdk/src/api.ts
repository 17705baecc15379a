/**
 * Written by `node scripts/writeSdkTypes.ts` from the OpenAPI document: do not edit.
 * Amounts are bigint base units.
 */
import type { Open, ShapesOf } from './answers.ts';

export interface Resources {
  readonly OpenRequest: OpenRequest;
  readonly BetRequest: BetRequest;
  readonly WinRequest: WinRequest;
  readonly RollbackRequest: RollbackRequest;
  readonly SettleRequest: SettleRequest;
  readonly Opened: Opened;
  readonly PlacedBet: PlacedBet;
  readonly CreditedWin: CreditedWin;
  readonly RolledBackBet: RolledBackBet;
  readonly SessionBalance: SessionBalance;
  readonly SettledSession: SettledSession;
  readonly SessionDetails: SessionDetails;
  readonly Transaction: Transaction;
  readonly ReconcileCheck: ReconcileCheck;
  readonly Reconciled: Reconciled;
  readonly InFlight: InFlight;
  readonly ReconcileWarning: ReconcileWarning;
  readonly Totals: Totals;
  readonly Account: Account;
  readonly LockRequest: LockRequest;
  readonly ConfirmRequest: ConfirmRequest;
  readonly SettlePoolRequest: SettlePoolRequest;
  readonly Payout: Payout;
  readonly RefundPoolRequest: RefundPoolRequest;
  readonly LockedStake: LockedStake;
  readonly ConfirmedStake: ConfirmedStake;
  readonly SettledPool: SettledPool;
  readonly PaidStake: PaidStake;
  readonly RefundedPool: RefundedPool;
  readonly RefundedStake: RefundedStake;
  readonly ReconcileRequest: ReconcileRequest;
  readonly ReleasedStake: ReleasedStake;
  readonly Pool: Pool;
  readonly Stake: Stake;
  readonly CodeRequest: CodeRequest;
  readonly ReferralCode: ReferralCode;
  readonly AttributeRequest: AttributeRequest;
  readonly Attribution: Attribution;
  readonly ChainRequest: ChainRequest;
  readonly Chain: Chain;
  readonly Referrer: Referrer;
  readonly CommissionRequest: CommissionRequest;
  readonly DistributionRequest: DistributionRequest;
  readonly Distribution: Distribution;
  readonly CommissionPart: CommissionPart;
  readonly EarningsRequest: EarningsRequest;
  readonly Earnings: Earnings;
  readonly EarningsWithdrawalRequest: EarningsWithdrawalRequest;
  readonly BookedEarnings: BookedEarnings;
  readonly UserReferrals: UserReferrals;
  readonly DirectReferrer: DirectReferrer;
  readonly Referee: Referee;
  readonly ReferralBalance: ReferralBalance;
  readonly HistoryRequest: HistoryRequest;
  readonly EarningsEntry: EarningsEntry;
  readonly OwnReferrals: OwnReferrals;
  readonly OwnAttribution: OwnAttribution;
  readonly ShareLinks: ShareLinks;
  readonly TransferRequest: TransferRequest;
  readonly TreasuryBalanceRequest: TreasuryBalanceRequest;
  readonly TreasuryMove: TreasuryMove;
  readonly MoveError: MoveError;
  readonly TreasuryBalance: TreasuryBalance;
  readonly Wallet: Wallet;
  readonly WalletBalance: WalletBalance;
  readonly TokenHolding: TokenHolding;
  readonly TransactionToSign: TransactionToSign;
  readonly SignedTransaction: SignedTransaction;
  readonly Withdrawal: Withdrawal;
  readonly WalletMove: WalletMove;
  readonly ExportPreflight: ExportPreflight;
  readonly ExportFloor: ExportFloor;
  readonly ExportOrder: ExportOrder;
  readonly Exported: Exported;
  readonly Identity: Identity;
  readonly WalletSummary: WalletSummary;
  readonly User: User;
  readonly VerifiedSession: VerifiedSession;
  readonly Session: Session;
  readonly SiwsChallenge: SiwsChallenge;
  readonly EmailInitiated: EmailInitiated;
  readonly Me: Me;
  readonly UserEventData: UserEventData;
  readonly WalletCreatedEventData: WalletCreatedEventData;
  readonly WalletLeftEventData: WalletLeftEventData;
  readonly ComplianceEventData: ComplianceEventData;
  readonly MoveEventData: MoveEventData;
  readonly UserCreatedEvent: UserCreatedEvent;
  readonly UserSuspendedEvent: UserSuspendedEvent;
  readonly WalletCreatedEvent: WalletCreatedEvent;
  readonly WalletExportedEvent: WalletExportedEvent;
  readonly WalletMigratedEvent: WalletMigratedEvent;
  readonly CompliancePassedEvent: CompliancePassedEvent;
  readonly ComplianceFailedEvent: ComplianceFailedEvent;
  readonly ComplianceReviewRequiredEvent: ComplianceReviewRequiredEvent;
  readonly DepositReceivedEvent: DepositReceivedEvent;
  readonly WithdrawalCompletedEvent: WithdrawalCompletedEvent;
  readonly WithdrawalFailedEvent: WithdrawalFailedEvent;
}
export interface OpenRequest {
  /** The player. */
  readonly userId: string;
  /** Your name for the game. */
  readonly gameCode: string;
  /** The app's currency code. */
  readonly currency: string;
  /** Base units; 0 is allowed. */
  readonly lockAmount: bigint;
  /** Your id for this write. A repeat gets the same answer; other content under the same id is refused. Generated if absent, once for all attempts of the call. */
  readonly transactionUuid?: string;
}
export interface BetRequest {
  /** The play session, as the open answered it. */
  readonly sessionId: string;
  /** Your id for this write. A repeat gets the same answer; other content under the same id is refused. Generated if absent, once for all attempts of the call. */
  readonly transactionUuid?: string;
  /** Base units; 0 is allowed. */
  readonly amount: bigint;
  /** Your round, recorded with the write. */
  readonly roundId?: string;
}
export interface WinRequest {
  /** The play session, as the open answered it. */
  readonly sessionId: string;
  /** Your id for this write. A repeat gets the same answer; other content under the same id is refused. Generated if absent, once for all attempts of the call. */
  readonly transactionUuid?: string;
  /** The transactionUuid of the bet. */
  readonly betTransactionUuid: string;
  /** Base units; 0 is allowed. */
  readonly amount: bigint;
  /** Your round, recorded with the write. */
  readonly roundId?: string;
}
export interface RollbackRequest {
  /** The play session, as the open answered it. */
  readonly sessionId: string;
  /** Your id for this write. A repeat gets the same answer; other content under the same id is refused. Generated if absent, once for all attempts of the call. */
  readonly transactionUuid?: string;
  /** The transactionUuid of the bet. */
  readonly betTransactionUuid: string;
}
export interface SettleRequest {
  /** The play session, as the open answered it. */
  readonly sessionId: string;
  /** Your id for this write. A repeat gets the same answer; other content under the same id is refused. Generated if absent, once for all attempts of the call. */
  readonly transactionUuid?: string;
}
export interface Opened {
  /** The play session, as the open answered it. */
  readonly sessionId: string;
  /** The player. */
  readonly userId: string;
  readonly gameCode: string;
  /** The app's currency code. */
  readonly currency: string;
  /** Base units. */
  readonly lockAmount: bigint;
  /** Base units. */
  readonly balance: bigint;
  readonly status: 'open';
  /** ISO 8601 UTC with milliseconds. */
  readonly openedAt: string;
}
export interface PlacedBet {
  /** The play session, as the open answered it. */
  readonly sessionId: string;
  readonly transactionUuid: string;
  /** Base units. */
  readonly amount: bigint;
  /** Base units. */
  readonly balance: bigint;
  readonly status: 'accepted';
}
export interface CreditedWin {
  /** The play session, as the open answered it. */
  readonly sessionId: string;
  readonly transactionUuid: string;
  readonly betTransactionUuid: string;
  /** Base units. */
  readonly amount: bigint;
  /** Base units. */
  readonly balance: bigint;
  readonly status: 'accepted';
}
export interface RolledBackBet {
  /** The play session, as the open answered it. */
  readonly sessionId: string;
  readonly transactionUuid: string;
  readonly betTransactionUuid: string;
  /** Base units. */
  readonly amount: bigint;
  /** Base units. */
  readonly balance: bigint;
  readonly status: 'rolled_back' | 'remembered' | 'already_rolled_back';
}
export interface SessionBalance {
  /** The play session, as the open answered it. */
  readonly sessionId: string;
  /** The player. */
  readonly userId: string;
  /** The app's currency code. */
  readonly currency: string;
  /** Base units. */
  readonly balance: bigint;
  readonly status: 'open' | 'settled';
}
export interface SettledSession {
  /** The play session, as the open answered it. */
  readonly sessionId: string;
  /** The player. */
  readonly userId: string;
  /** The app's currency code. */
  readonly currency: string;
  /** Base units. */
  readonly lockAmount: bigint;
  /** Base units. */
  readonly totalBet: bigint;
  /** Base units. */
  readonly totalWin: bigint;
  /** Base units. */
  readonly payout: bigint;
  /** Base units. */
  readonly net: bigint;
  readonly status: 'settled';
  /** ISO 8601 UTC with milliseconds. */
  readonly settledAt: string;
}
export interface SessionDetails {
  /** The play session, as the open answered it. */
  readonly sessionId: string;
  /** The player. */
  readonly userId: string;
  readonly gameCode: string;
  /** The app's currency code. */
  readonly currency: string;
  /** Base units. */
  readonly lockAmount: bigint;
  /** Base units. */
  readonly balance: bigint;
  readonly status: 'open' | 'settled';
  /** ISO 8601 UTC with milliseconds. */
  readonly openedAt: string;
  /** Base units. */
  readonly totalBet: bigint;
  /** Base units. */
  readonly totalWin: bigint;
  readonly payout: bigint | null;
  readonly net: bigint | null;
  readonly settledAt: string | null;
}
export interface Transaction {
  readonly transactionUuid: string;
  readonly kind: 'bet' | 'win' | 'rollback';
  /** Base units. */
  readonly amount: bigint;
  readonly betTransactionUuid: string | null;
  readonly roundId: string | null;
  readonly status: 'accepted' | 'rolled_back' | 'remembered';
  /** Base units. */
  readonly balance: bigint;
  /** ISO 8601 UTC with milliseconds. */
  readonly at: string;
}
export interface ReconcileCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly examined: number;
}
export interface Reconciled {
  readonly ok: boolean;
  readonly environment: 'test' | 'live';
  /** The place in the log that everything was compared at. */
  readonly position: string;
  /** ISO 8601 UTC with milliseconds. */
  readonly checkedAt: string;
  readonly mode: 'full' | 'incremental';
  /** The place from which an incremental run went on; null for a full one. */
  readonly verifiedFrom: string | null;
  readonly checks: readonly ReconcileCheck[];
  /** Decided, and on its way to the account. */
  readonly inFlight: readonly InFlight[];
  readonly warnings: readonly ReconcileWarning[];
  readonly totals: readonly Totals[];
}
export interface InFlight {
  readonly reaction: string;
  readonly subject: string;
}
export interface ReconcileWarning {
  readonly code: string;
  readonly subject: string;
  readonly sessions: readonly string[];
  /** Of an event that is skipped: who passes it over. */
  readonly consumer?: string;
  readonly eventId?: string;
  readonly eventType?: string;
  readonly reason?: string;
  readonly skippedAt?: string;
}
export interface Totals {
  readonly currency: string;
  /** Base units. */
  readonly available: bigint;
  /** Base units. */
  readonly held: bigint;
  /** Base units. */
  readonly pools: bigint;
  /** Base units. */
  readonly house: bigint;
  /** Base units. */
  readonly referrals: bigint;
  /** Base units. */
  readonly external: bigint;
  /** Base units. */
  readonly adjustments: bigint;
}
export interface Account {
  readonly currency: string;
  readonly currencyId: number;
  /** Base units. */
  readonly available: bigint;
  /** Base units. */
  readonly held: bigint;
}
export interface LockRequest {
  /** Your id for the pool. The first stake opens it. */
  readonly poolId: string;
  /** Your id for the bet, unique in its pool. A repeat gets the same answer; other content under the same id is refused. */
  readonly betId: string;
  /** The player. */
  readonly userId: string;
  /** The id of one of the app's currencies. */
  readonly currency: number;
  /** Base units, at least 1. */
  readonly amount: bigint;
}
export interface ConfirmRequest {
  /** Your id for the pool. The first stake opens it. */
  readonly poolId: string;
  /** Your id for the bet, unique in its pool. A repeat gets the same answer; other content under the same id is refused. */
  readonly betId: string;
}
export interface SettlePoolRequest {
  /** Your id for the pool. The first stake opens it. */
  readonly poolId: string;
  /** The id of one of the app's currencies. */
  readonly currency: number;
  /** What the house keeps. Base units; 0 is allowed. */
  readonly rake: bigint;
  readonly payouts: readonly Payout[];
}
export interface Payout {
  /** Your id for the bet, unique in its pool. A repeat gets the same answer; other content under the same id is refused. */
  readonly betId: string;
  /** The player. */
  readonly userId: string;
  /** Base units; 0 is allowed, and is what a bet gets that is not named. */
  readonly payout: bigint;
}
export interface RefundPoolRequest {
  /** Your id for the pool. The first stake opens it. */
  readonly poolId: string;
  /** Your own words, recorded with the refund. */
  readonly reason?: string;
}
export interface LockedStake {
  readonly poolId: string;
  readonly betId: string;
  readonly userId: string;
  readonly currency: number;
  /** Base units. */
  readonly amount: bigint;
  readonly status: 'locked';
  /** From then on the stake may be released unless it is confirmed. */
  readonly confirmBy: string;
}
export interface ConfirmedStake {
  readonly poolId: string;
  readonly betId: string;
  readonly userId: string;
  readonly currency: number;
  /** Base units. */
  readonly amount: bigint;
  readonly status: 'confirmed';
}
export interface SettledPool {
  readonly poolId: string;
  readonly status: 'settled';
  /** The confirmed stakes: rake and paid together. */
  readonly staked: bigint;
  /** Base units. */
  readonly rake: bigint;
  /** Base units. */
  readonly paid: bigint;
  /** As in the first request. */
  readonly payouts: readonly PaidStake[];
  /** Bets that were not confirmed: their stakes are given back. */
  readonly released: readonly string[];
}
export interface PaidStake {
  readonly betId: string;
  readonly userId: string;
  /** Base units. */
  readonly payout: bigint;
}
export interface RefundedPool {
  readonly poolId: string;
  readonly status: 'refunded';
  readonly refunds: readonly RefundedStake[];
}
export interface RefundedStake {
  readonly betId: string;
  readonly userId: string;
  /** Base units. */
  readonly amount: bigint;
}
export interface ReconcileRequest {
  /** Only stakes locked at least this long ago. */
  readonly olderThanSeconds?: number;
}
export interface ReleasedStake {
  readonly poolId: string;
  readonly betId: string;
  readonly userId: string;
  /** Base units. */
  readonly amount: bigint;
}
export interface Pool {
  readonly poolId: string;
  readonly currency: number;
  readonly status: 'open' | 'settled' | 'refunded';
  /** What is locked and confirmed together; released stakes are left out. */
  readonly staked: bigint;
  /** Base units. */
  readonly confirmed: bigint;
  /** Base units. */
  readonly locked: bigint;
  /** How many of the stakes that the end of the pool credits have been credited. */
  readonly credits: {
    readonly done: number;
    readonly of: number;
  };
}
export interface Stake {
  readonly betId: string;
  readonly userId: string;
  /** Base units. */
  readonly amount: bigint;
  readonly status: 'locked' | 'confirmed' | 'released' | 'settled' | 'refunded';
  /** Null while the pool is open, and for a stake that was released. */
  readonly payout: bigint | null;
  /** When it was locked. */
  readonly at: string;
}
export interface CodeRequest {
  readonly userId: string;
  readonly code?: string;
}
export interface ReferralCode {
  /** The player. */
  readonly userId: string;
  readonly code: string;
}
export interface AttributeRequest {
  readonly userId: string;
  readonly code: string;
}
export interface Attribution {
  readonly attributed: boolean;
  /** The player. */
  readonly referrerUserId?: string;
  readonly reason?: 'unknown_code' | 'self' | 'already_attributed' | 'cycle';
}
export interface ChainRequest {
  readonly userId: string;
  readonly depth?: number;
}
export interface Chain {
  /** The player. */
  readonly userId: string;
  readonly chain: readonly Referrer[];
}
export interface Referrer {
  /** 1 is the direct referrer. */
  readonly level: number;
  /** The player. */
  readonly userId: string;
  /** Null for a user who was erased. */
  readonly code: string | null;
}
export interface CommissionRequest {
  /** Your id for this operation, unique across payouts, distributions and withdrawals. A repeat gets the same answer; other content under the same id is refused. Generated if absent, once for all attempts of the call. */
  readonly idemKey?: string;
  /** The beneficiary. */
  readonly userId: string;
  /** The id of one of the app's currencies. */
  readonly currency: number;
  /** Base units, at least 1. */
  readonly amount: bigint;
  /** Whose play earned it. */
  readonly sourceUserId?: string;
  readonly memo?: string;
}
export interface DistributionRequest {
  /** Your id for this operation, unique across payouts, distributions and withdrawals. A repeat gets the same answer; other content under the same id is refused. Generated if absent, once for all attempts of the call. */
  readonly idemKey?: string;
  /** Whose play earned it: level 1 is the referrer of this player. */
  readonly userId: string;
  /** The id of one of the app's currencies. */
  readonly currency: number;
  /** Base units, at least 1. */
  readonly amount: bigint;
  /** The share of each level, in hundredths of a percent. */
  readonly levels: readonly number[];
}
export interface Distribution {
  /** Your id for this operation, unique across payouts, distributions and withdrawals. A repeat gets the same answer; other content under the same id is refused. */
  readonly idemKey: string;
  readonly distributed: readonly CommissionPart[];
  /** Stays with the house. */
  readonly remainder: bigint;
  /** Of users who were erased; within the remainder. */
  readonly withheld: readonly CommissionPart[];
}
export interface CommissionPart {
  readonly level: number;
  /** The player. */
  readonly userId: string;
  readonly bps: number;
  readonly amount: bigint;
}
export interface EarningsRequest {
  readonly userId: string;
  /** The id of one of the app's currencies. */
  readonly currency: number;
}
export interface Earnings {
  /** The player. */
  readonly userId: string;
  /** The id of one of the app's currencies. */
  readonly currency: number;
  /** Base units. */
  readonly accrued: bigint;
  /** Base units. */
  readonly withdrawn: bigint;
  /** Base units. */
  readonly balance: bigint;
}
export interface EarningsWithdrawalRequest {
  readonly userId: string;
  /** The id of one of the app's currencies. */
  readonly currency: number;
  /** Everything there is if left out. */
  readonly amount?: bigint;
  /** Your id for this operation, unique across payouts, distributions and withdrawals. A repeat gets the same answer; other content under the same id is refused. Generated if absent, once for all attempts of the call. */
  readonly idemKey?: string;
}
export interface BookedEarnings {
  /** Your id for this operation, unique across payouts, distributions and withdrawals. A repeat gets the same answer; other content under the same id is refused. */
  readonly idemKey: string;
  /** The player. */
  readonly userId: string;
  /** The id of one of the app's currencies. */
  readonly currency: number;
  readonly amount: bigint;
  /** Base units. */
  readonly balance: bigint;
}
export interface UserReferrals {
  /** The player. */
  readonly userId: string;
  /** Null for a user without one, and one who was erased. */
  readonly code: string | null;
  readonly referrer: DirectReferrer | null;
  readonly attributedAt: string | null;
  /** Whom the user brought; the last one comes first. */
  readonly referees: readonly Referee[];
  readonly nextCursor: string | null;
  /** In the currencies in which the user has earned anything. */
  readonly balances: readonly ReferralBalance[];
}
export interface DirectReferrer {
  /** The player. */
  readonly userId: string;
  /** Null for a user who was erased. */
  readonly code: string | null;
}
export interface Referee {
  /** The player. */
  readonly userId: string;
  /** ISO 8601 UTC with milliseconds. */
  readonly attributedAt: string;
}
export interface ReferralBalance {
  /** The id of one of the app's currencies. */
  readonly currency: number;
  /** Base units. */
  readonly accrued: bigint;
  /** Base units. */
  readonly withdrawn: bigint;
  /** Base units. */
  readonly balance: bigint;
}
export interface HistoryRequest {
  readonly userId: string;
  /** The id of one of the app's currencies. */
  readonly currency?: number;
  readonly limit?: number;
  /** The `nextCursor` of the page before. */
  readonly cursor?: string;
}
export interface EarningsEntry {
  readonly kind: 'payout' | 'distribution' | 'withdrawal';
  /** Your id for this operation, unique across payouts, distributions and withdrawals. A repeat gets the same answer; other content under the same id is refused. */
  readonly idemKey: string;
  /** The id of one of the app's currencies. */
  readonly currency: number;
  readonly amount: bigint;
  /** Of a distribution; 1 is the direct referrer. */
  readonly level?: number;
  /** Whose play earned it. */
  readonly sourceUserId?: string;
  readonly memo?: string;
  /** ISO 8601 UTC with milliseconds. */
  readonly at: string;
}
export interface OwnReferrals {
  readonly code: string;
  readonly referrer: DirectReferrer | null;
  /** In the currencies in which the user has earned anything. */
  readonly balances: readonly ReferralBalance[];
}
export interface OwnAttribution {
  readonly attributed: boolean;
  /** The player. */
  readonly referrerUserId?: string;
  readonly reason?: 'unknown_code' | 'self' | 'already_attributed' | 'cycle';
}
export interface ShareLinks {
  readonly code: string;
  /** By platform. */
  readonly links: Readonly<Record<string, string>>;
}
export interface TransferRequest {
  /** The player. */
  readonly userId: string;
  /** The id of one of the app's currencies. */
  readonly currency: number;
  /** Base units, at least 1. */
  readonly amount: bigint;
  /** Your id for this move, unique across deposits and withdrawals. A repeat gets the same answer; other content under the same id is refused. Generated if absent, once for all attempts of the call. */
  readonly ref?: string;
}
export interface TreasuryBalanceRequest {
  /** The player. */
  readonly userId: string;
  /** The id of one of the app's currencies. */
  readonly currency: number;
}
export interface TreasuryMove {
  readonly ref: string;
  /** Our id of the move. */
  readonly moveId: string;
  readonly kind: 'deposit' | 'withdraw';
  readonly userId: string;
  /** The app's currency id; null if the mint is not a currency. */
  readonly currency: number | null;
  /** Base units. */
  readonly amount: bigint;
  /** The wallet that is paid, in base58. */
  readonly toAddress: string;
  readonly status: 'pending' | 'submitted' | 'confirmed' | 'failed';
  /** Of the latest transaction, in base58. */
  readonly signature: string | null;
  readonly slot: number | null;
  readonly error: MoveError | null;
  /** ISO 8601 UTC with milliseconds. */
  readonly createdAt: string;
  /** ISO 8601 UTC with milliseconds. */
  readonly updatedAt: string;
}
export interface MoveError {
  readonly code: string;
  readonly message: string;
}
export interface TreasuryBalance {
  /** The player. */
  readonly userId: string;
  /** The id of one of the app's currencies. */
  readonly currency: number;
  /** Base units. */
  readonly deposited: bigint;
  /** Base units. */
  readonly withdrawn: bigint;
  /** Base units. */
  readonly net: bigint;
  /** Base units. */
  readonly available: bigint;
  /** Base units. */
  readonly held: bigint;
  readonly treasury: {
    readonly address: string;
    /** In finalized blocks. */
    readonly onChain: bigint;
    /** All players' available and held funds, pools and referrals in the currency. */
    readonly liabilities: bigint;
    /** Cash-outs that are signed but not booked yet. */
    readonly inFlight: bigint;
    /** onChain and inFlight less liabilities. */
    readonly surplus: bigint;
  };
}
export interface Wallet {
  readonly id: string;
  readonly userId: string;
  readonly address: string;
  readonly environment: 'test' | 'live';
  readonly custody: Open<'operator'>;
  readonly status: Open<'active' | 'exported' | 'migrated'>;
  readonly createdAt: string;
}
export interface WalletBalance {
  readonly walletId: string;
  readonly address: string;
  readonly environment: 'test' | 'live';
  readonly native: {
    readonly symbol: Open<'SOL'>;
    /** Base units. */
    readonly amount: bigint;
    readonly decimals: number;
    readonly currency: string | null;
    readonly currencyId: number | null;
  };
  readonly tokens: readonly TokenHolding[];
}
export interface TokenHolding {
  readonly mint: string;
  /** Base units. */
  readonly amount: bigint;
  readonly decimals: number;
  readonly currency: string | null;
  readonly currencyId: number | null;
}
export interface TransactionToSign {
  /** The transaction: legacy or version 0, at most 1,232 bytes. */
  readonly transaction: Uint8Array;
  /** Generated if absent, once for all attempts of the call. */
  readonly idempotencyKey?: string;
}
export interface SignedTransaction {
  /** The transaction with the signature in its place. */
  readonly signedTransaction: Uint8Array;
  /** The wallet's signature, in base58. */
  readonly signature: string;
  readonly publicKey: string;
}
export interface Withdrawal {
  /** Generated if absent, once for all attempts of the call. */
  readonly idempotencyKey?: string;
  readonly toAddress: string;
  readonly amount: bigint;
  readonly currency?: number;
  readonly mint?: string;
}
export interface WalletMove {
  readonly idempotencyKey: string;
  /** `native` or a base58 mint address. */
  readonly mint: string;
  /** Our id of the move. */
  readonly moveId: string;
  readonly kind: 'deposit' | 'withdraw';
  readonly userId: string;
  /** The app's currency id; null if the mint is not a currency. */
  readonly currency: number | null;
  /** Base units. */
  readonly amount: bigint;
  /** The wallet that is paid, in base58. */
  readonly toAddress: string;
  readonly status: 'pending' | 'submitted' | 'confirmed' | 'failed';
  /** Of the latest transaction, in base58. */
  readonly signature: string | null;
  readonly slot: number | null;
  readonly error: MoveError | null;
  /** ISO 8601 UTC with milliseconds. */
  readonly createdAt: string;
  /** ISO 8601 UTC with milliseconds. */
  readonly updatedAt: string;
}
export interface ExportPreflight {
  readonly allowed: boolean;
  readonly reasons: readonly Open<'below_floor' | 'moves_in_flight' | 'reauthentication_required'>[];
  readonly floor: readonly ExportFloor[];
}
export interface ExportFloor {
  readonly currency: string;
  /** Base units. */
  readonly minimum: bigint;
  /** Base units. */
  readonly balance: bigint;
}
export interface ExportOrder {
  /** Generated if absent, once for all attempts of the call. */
  readonly idempotencyKey?: string;
  readonly recipientPublicKey?: string;
}
export interface Exported {
  readonly exported: {
    readonly id: string;
    readonly address: string;
    readonly secretKey?: string;
    readonly sealedSecretKey?: string;
  };
  readonly wallet: Wallet;
}
export interface Identity {
  readonly id: string;
  readonly type: Open<'wallet' | 'messenger' | 'email'>;
  readonly externalId: string;
  readonly profile: Readonly<Record<string, string>>;
}
export interface WalletSummary {
  readonly id: string;
  readonly address: string;
  readonly environment: 'test' | 'live';
  readonly custody: Open<'operator'>;
  readonly status: Open<'active' | 'exported' | 'migrated'>;
}
export interface User {
  readonly id: string;
  readonly appId: string;
  readonly primaryIdentity: Identity;
  readonly identities: readonly Identity[];
  readonly wallets: readonly WalletSummary[];
  readonly createdAt: string;
}
export interface VerifiedSession {
  readonly userId: string;
  readonly appId: string;
  readonly environment: 'test' | 'live';
  readonly authMethod: Open<'siws' | 'messenger' | 'email'>;
  readonly walletAddress: string | null;
  readonly wallets: readonly WalletSummary[];
  readonly identities: readonly Identity[];
}
export interface Session {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresAt: string;
  readonly user: User;
}
export interface SiwsChallenge {
  readonly nonce: string;
  readonly domain: string;
  readonly statement: string;
  readonly uri: string;
  readonly issuedAt: string;
  readonly expiresAt: string;
  readonly message: string;
}
export interface EmailInitiated {
  readonly sent: boolean;
  readonly expiresAt: string;
}
export interface Me {
  readonly user: User;
  readonly wallet: WalletSummary | null;
}
export interface UserEventData {
  readonly id: string;
  readonly environment: 'test' | 'live';
}
export interface WalletCreatedEventData {
  readonly id: string;
  readonly userId: string;
  /** In base58. */
  readonly address: string;
  readonly custody: Open<'custodial'>;
  readonly status: Open<'active'>;
}
export interface WalletLeftEventData {
  /** The wallet that was replaced. */
  readonly id: string;
  readonly userId: string;
  readonly environment: 'test' | 'live';
  /** In base58. */
  readonly address: string;
  readonly newWalletId: string;
  readonly newAddress: string;
}
export interface ComplianceEventData {
  readonly id: string;
  readonly userId: string;
  readonly environment: 'test' | 'live';
  readonly reason: string | null;
}
export interface MoveEventData {
  readonly id: string;
  /** The ref of the treasury call, or the idempotencyKey of a withdrawal. */
  readonly ref: string;
  readonly kind: 'deposit' | 'withdraw';
  readonly userId: string;
  /** The app's currency id; null if the mint is not a currency. */
  readonly currency: number | null;
  /** Base units. */
  readonly amount: bigint;
  /** Of the transaction, in base58. */
  readonly signature: string | null;
  readonly environment: 'test' | 'live';
  /** Of the currency. */
  readonly code: string | null;
  /** Why it has failed; otherwise null. */
  readonly error: MoveError | null;
}
export interface UserCreatedEvent {
  /** The same at every delivery. */
  readonly id: string;
  readonly type: 'user.created';
  readonly createdAt: string;
  readonly appId: string;
  readonly environment: 'test' | 'live';
  /** Counts the events of the app, from 1. */
  readonly sequence: number;
  readonly data: UserEventData;
  /** The number before it that was for the same subscription, or matches the same request. */
  readonly previousSequence: number | null;
}
export interface UserSuspendedEvent {
  /** The same at every delivery. */
  readonly id: string;
  readonly type: 'user.suspended';
  readonly createdAt: string;
  readonly appId: string;
  readonly environment: 'test' | 'live';
  /** Counts the events of the app, from 1. */
  readonly sequence: number;
  readonly data: UserEventData;
  /** The number before it that was for the same subscription, or matches the same request. */
  readonly previousSequence: number | null;
}
export interface WalletCreatedEvent {
  /** The same at every delivery. */
  readonly id: string;
  readonly type: 'wallet.created';
  readonly createdAt: string;
  readonly appId: string;
  readonly environment: 'test' | 'live';
  /** Counts the events of the app, from 1. */
  readonly sequence: number;
  readonly data: WalletCreatedEventData;
  /** The number before it that was for the same subscription, or matches the same request. */
  readonly previousSequence: number | null;
}
export interface WalletExportedEvent {
  /** The same at every delivery. */
  readonly id: string;
  readonly type: 'wallet.exported';
  readonly createdAt: string;
  readonly appId: string;
  readonly environment: 'test' | 'live';
  /** Counts the events of the app, from 1. */
  readonly sequence: number;
  readonly data: WalletLeftEventData;
  /** The number before it that was for the same subscription, or matches the same request. */
  readonly previousSequence: number | null;
}
export interface WalletMigratedEvent {
  /** The same at every delivery. */
  readonly id: string;
  readonly type: 'wallet.migrated';
  readonly createdAt: string;
  readonly appId: string;
  readonly environment: 'test' | 'live';
  /** Counts the events of the app, from 1. */
  readonly sequence: number;
  readonly data: WalletLeftEventData;
  /** The number before it that was for the same subscription, or matches the same request. */
  readonly previousSequence: number | null;
}
export interface CompliancePassedEvent {
  /** The same at every delivery. */
  readonly id: string;
  readonly type: 'compliance.passed';
  readonly createdAt: string;
  readonly appId: string;
  readonly environment: 'test' | 'live';
  /** Counts the events of the app, from 1. */
  readonly sequence: number;
  readonly data: ComplianceEventData;
  /** The number before it that was for the same subscription, or matches the same request. */
  readonly previousSequence: number | null;
}
export interface ComplianceFailedEvent {
  /** The same at every delivery. */
  readonly id: string;
  readonly type: 'compliance.failed';
  readonly createdAt: string;
  readonly appId: string;
  readonly environment: 'test' | 'live';
  /** Counts the events of the app, from 1. */
  readonly sequence: number;
  readonly data: ComplianceEventData;
  /** The number before it that was for the same subscription, or matches the same request. */
  readonly previousSequence: number | null;
}
export interface ComplianceReviewRequiredEvent {
  /** The same at every delivery. */
  readonly id: string;
  readonly type: 'compliance.review_required';
  readonly createdAt: string;
  readonly appId: string;
  readonly environment: 'test' | 'live';
  /** Counts the events of the app, from 1. */
  readonly sequence: number;
  readonly data: ComplianceEventData;
  /** The number before it that was for the same subscription, or matches the same request. */
  readonly previousSequence: number | null;
}
export interface DepositReceivedEvent {
  /** The same at every delivery. */
  readonly id: string;
  readonly type: 'deposit.received';
  readonly createdAt: string;
  readonly appId: string;
  readonly environment: 'test' | 'live';
  /** Counts the events of the app, from 1. */
  readonly sequence: number;
  readonly data: MoveEventData;
  /** The number before it that was for the same subscription, or matches the same request. */
  readonly previousSequence: number | null;
}
export interface WithdrawalCompletedEvent {
  /** The same at every delivery. */
  readonly id: string;
  readonly type: 'withdrawal.completed';
  readonly createdAt: string;
  readonly appId: string;
  readonly environment: 'test' | 'live';
  /** Counts the events of the app, from 1. */
  readonly sequence: number;
  readonly data: MoveEventData;
  /** The number before it that was for the same subscription, or matches the same request. */
  readonly previousSequence: number | null;
}
export interface WithdrawalFailedEvent {
  /** The same at every delivery. */
  readonly id: string;
  readonly type: 'withdrawal.failed';
  readonly createdAt: string;
  readonly appId: string;
  readonly environment: 'test' | 'live';
  /** Counts the events of the app, from 1. */
  readonly sequence: number;
  readonly data: MoveEventData;
  /** The number before it that was for the same subscription, or matches the same request. */
  readonly previousSequence: number | null;
}

export const shapes: ShapesOf<Resources> = {
  OpenRequest: { fields: { userId: 'text', gameCode: 'text', currency: 'text', lockAmount: 'figure', transactionUuid: { optional: 'text' } } },
  BetRequest: { fields: { sessionId: 'text', transactionUuid: { optional: 'text' }, amount: 'figure', roundId: { optional: 'text' } } },
  WinRequest: { fields: { sessionId: 'text', transactionUuid: { optional: 'text' }, betTransactionUuid: 'text', amount: 'figure', roundId: { optional: 'text' } } },
  RollbackRequest: { fields: { sessionId: 'text', transactionUuid: { optional: 'text' }, betTransactionUuid: 'text' } },
  SettleRequest: { fields: { sessionId: 'text', transactionUuid: { optional: 'text' } } },
  Opened: { fields: { sessionId: 'text', userId: 'text', gameCode: 'text', currency: 'text', lockAmount: 'figure', balance: 'figure', status: ['open'], openedAt: 'text' } },
  PlacedBet: { fields: { sessionId: 'text', transactionUuid: 'text', amount: 'figure', balance: 'figure', status: ['accepted'] } },
  CreditedWin: { fields: { sessionId: 'text', transactionUuid: 'text', betTransactionUuid: 'text', amount: 'figure', balance: 'figure', status: ['accepted'] } },
  RolledBackBet: { fields: { sessionId: 'text', transactionUuid: 'text', betTransactionUuid: 'text', amount: 'figure', balance: 'figure', status: ['rolled_back', 'remembered', 'already_rolled_back'] } },
  SessionBalance: { fields: { sessionId: 'text', userId: 'text', currency: 'text', balance: 'figure', status: ['open', 'settled'] } },
  SettledSession: { fields: { sessionId: 'text', userId: 'text', currency: 'text', lockAmount: 'figure', totalBet: 'figure', totalWin: 'figure', payout: 'figure', net: 'signedFigure', status: ['settled'], settledAt: 'text' } },
  SessionDetails: { fields: { sessionId: 'text', userId: 'text', gameCode: 'text', currency: 'text', lockAmount: 'figure', balance: 'figure', status: ['open', 'settled'], openedAt: 'text', totalBet: 'figure', totalWin: 'figure', payout: { nullable: 'figure' }, net: { nullable: 'signedFigure' }, settledAt: { nullable: 'text' } } },
  Transaction: { fields: { transactionUuid: 'text', kind: ['bet', 'win', 'rollback'], amount: 'figure', betTransactionUuid: { nullable: 'text' }, roundId: { nullable: 'text' }, status: ['accepted', 'rolled_back', 'remembered'], balance: 'figure', at: 'text' } },
  ReconcileCheck: { fields: { name: 'text', ok: 'boolean', examined: 'number' } },
  Reconciled: { fields: { ok: 'boolean', environment: ['test', 'live'], position: 'text', checkedAt: 'text', mode: ['full', 'incremental'], verifiedFrom: { nullable: 'text' }, checks: { list: () => shapes.ReconcileCheck }, inFlight: { list: () => shapes.InFlight }, warnings: { list: () => shapes.ReconcileWarning }, totals: { list: () => shapes.Totals } } },
  InFlight: { fields: { reaction: 'text', subject: 'text' } },
  ReconcileWarning: { fields: { code: 'text', subject: 'text', sessions: 'texts', consumer: { optional: 'text' }, eventId: { optional: 'text' }, eventType: { optional: 'text' }, reason: { optional: 'text' }, skippedAt: { optional: 'text' } } },
  Totals: { fields: { currency: 'text', available: 'signedFigure', held: 'signedFigure', pools: 'signedFigure', house: 'signedFigure', referrals: 'signedFigure', external: 'signedFigure', adjustments: 'signedFigure' } },
  Account: { fields: { currency: 'text', currencyId: 'number', available: 'figure', held: 'figure' } },
  LockRequest: { fields: { poolId: 'text', betId: 'text', userId: 'text', currency: 'number', amount: 'figure' } },
  ConfirmRequest: { fields: { poolId: 'text', betId: 'text' } },
  SettlePoolRequest: { fields: { poolId: 'text', currency: 'number', rake: 'figure', payouts: { list: () => shapes.Payout } } },
  Payout: { fields: { betId: 'text', userId: 'text', payout: 'figure' } },
  RefundPoolRequest: { fields: { poolId: 'text', reason: { optional: 'text' } } },
  LockedStake: { fields: { poolId: 'text', betId: 'text', userId: 'text', currency: 'number', amount: 'figure', status: ['locked'], confirmBy: 'text' } },
  ConfirmedStake: { fields: { poolId: 'text', betId: 'text', userId: 'text', currency: 'number', amount: 'figure', status: ['confirmed'] } },
  SettledPool: { fields: { poolId: 'text', status: ['settled'], staked: 'figure', rake: 'figure', paid: 'figure', payouts: { list: () => shapes.PaidStake }, released: 'texts' } },
  PaidStake: { fields: { betId: 'text', userId: 'text', payout: 'figure' } },
  RefundedPool: { fields: { poolId: 'text', status: ['refunded'], refunds: { list: () => shapes.RefundedStake } } },
  RefundedStake: { fields: { betId: 'text', userId: 'text', amount: 'figure' } },
  ReconcileRequest: { fields: { olderThanSeconds: { optional: 'number' } } },
  ReleasedStake: { fields: { poolId: 'text', betId: 'text', userId: 'text', amount: 'figure' } },
  Pool: { fields: { poolId: 'text', currency: 'number', status: ['open', 'settled', 'refunded'], staked: 'figure', confirmed: 'figure', locked: 'figure', credits: { fields: { done: 'number', of: 'number' } } } },
  Stake: { fields: { betId: 'text', userId: 'text', amount: 'figure', status: ['locked', 'confirmed', 'released', 'settled', 'refunded'], payout: { nullable: 'figure' }, at: 'text' } },
  CodeRequest: { fields: { userId: 'text', code: { optional: 'text' } } },
  ReferralCode: { fields: { userId: 'text', code: 'text' } },
  AttributeRequest: { fields: { userId: 'text', code: 'text' } },
  Attribution: { fields: { attributed: 'boolean', referrerUserId: { optional: 'text' }, reason: { optional: ['unknown_code', 'self', 'already_attributed', 'cycle'] } } },
  ChainRequest: { fields: { userId: 'text', depth: { optional: 'number' } } },
  Chain: { fields: { userId: 'text', chain: { list: () => shapes.Referrer } } },
  Referrer: { fields: { level: 'number', userId: 'text', code: { nullable: 'text' } } },
  CommissionRequest: { fields: { idemKey: { optional: 'text' }, userId: 'text', currency: 'number', amount: 'figure', sourceUserId: { optional: 'text' }, memo: { optional: 'text' } } },
  DistributionRequest: { fields: { idemKey: { optional: 'text' }, userId: 'text', currency: 'number', amount: 'figure', levels: 'numbers' } },
  Distribution: { fields: { idemKey: 'text', distributed: { list: () => shapes.CommissionPart }, remainder: 'figure', withheld: { list: () => shapes.CommissionPart } } },
  CommissionPart: { fields: { level: 'number', userId: 'text', bps: 'number', amount: 'figure' } },
  EarningsRequest: { fields: { userId: 'text', currency: 'number' } },
  Earnings: { fields: { userId: 'text', currency: 'number', accrued: 'figure', withdrawn: 'figure', balance: 'figure' } },
  EarningsWithdrawalRequest: { fields: { userId: 'text', currency: 'number', amount: { optional: 'figure' }, idemKey: { optional: 'text' } } },
  BookedEarnings: { fields: { idemKey: 'text', userId: 'text', currency: 'number', amount: 'figure', balance: 'figure' } },
  UserReferrals: { fields: { userId: 'text', code: { nullable: 'text' }, referrer: { nullable: () => shapes.DirectReferrer }, attributedAt: { nullable: 'text' }, referees: { list: () => shapes.Referee }, nextCursor: { nullable: 'text' }, balances: { list: () => shapes.ReferralBalance } } },
  DirectReferrer: { fields: { userId: 'text', code: { nullable: 'text' } } },
  Referee: { fields: { userId: 'text', attributedAt: 'text' } },
  ReferralBalance: { fields: { currency: 'number', accrued: 'figure', withdrawn: 'figure', balance: 'figure' } },
  HistoryRequest: { fields: { userId: 'text', currency: { optional: 'number' }, limit: { optional: 'number' }, cursor: { optional: 'text' } } },
  EarningsEntry: { fields: { kind: ['payout', 'distribution', 'withdrawal'], idemKey: 'text', currency: 'number', amount: 'figure', level: { optional: 'number' }, sourceUserId: { optional: 'text' }, memo: { optional: 'text' }, at: 'text' } },
  OwnReferrals: { fields: { code: 'text', referrer: { nullable: () => shapes.DirectReferrer }, balances: { list: () => shapes.ReferralBalance } } },
  OwnAttribution: { fields: { attributed: 'boolean', referrerUserId: { optional: 'text' }, reason: { optional: ['unknown_code', 'self', 'already_attributed', 'cycle'] } } },
  ShareLinks: { fields: { code: 'text', links: 'textsByName' } },
  TransferRequest: { fields: { userId: 'text', currency: 'number', amount: 'figure', ref: { optional: 'text' } } },
  TreasuryBalanceRequest: { fields: { userId: 'text', currency: 'number' } },
  TreasuryMove: { fields: { ref: 'text', moveId: 'text', kind: ['deposit', 'withdraw'], userId: 'text', currency: { nullable: 'number' }, amount: 'figure', toAddress: 'text', status: ['pending', 'submitted', 'confirmed', 'failed'], signature: { nullable: 'text' }, slot: { nullable: 'number' }, error: { nullable: () => shapes.MoveError }, createdAt: 'text', updatedAt: 'text' } },
  MoveError: { fields: { code: 'text', message: 'text' } },
  TreasuryBalance: { fields: { userId: 'text', currency: 'number', deposited: 'figure', withdrawn: 'figure', net: 'signedFigure', available: 'figure', held: 'figure', treasury: { fields: { address: 'text', onChain: 'figure', liabilities: 'signedFigure', inFlight: 'figure', surplus: 'signedFigure' } } } },
  Wallet: { fields: { id: 'text', userId: 'text', address: 'text', environment: ['test', 'live'], custody: 'text', status: 'text', createdAt: 'text' } },
  WalletBalance: { fields: { walletId: 'text', address: 'text', environment: ['test', 'live'], native: { fields: { symbol: 'text', amount: 'figure', decimals: 'number', currency: { nullable: 'text' }, currencyId: { nullable: 'number' } } }, tokens: { list: () => shapes.TokenHolding } } },
  TokenHolding: { fields: { mint: 'text', amount: 'figure', decimals: 'number', currency: { nullable: 'text' }, currencyId: { nullable: 'number' } } },
  TransactionToSign: { fields: { transaction: 'bytes', idempotencyKey: { optional: 'text' } } },
  SignedTransaction: { fields: { signedTransaction: 'bytes', signature: 'text', publicKey: 'text' } },
  Withdrawal: { fields: { idempotencyKey: { optional: 'text' }, toAddress: 'text', amount: 'figure', currency: { optional: 'number' }, mint: { optional: 'text' } } },
  WalletMove: { fields: { idempotencyKey: 'text', mint: 'text', moveId: 'text', kind: ['deposit', 'withdraw'], userId: 'text', currency: { nullable: 'number' }, amount: 'figure', toAddress: 'text', status: ['pending', 'submitted', 'confirmed', 'failed'], signature: { nullable: 'text' }, slot: { nullable: 'number' }, error: { nullable: () => shapes.MoveError }, createdAt: 'text', updatedAt: 'text' } },
  ExportPreflight: { fields: { allowed: 'boolean', reasons: 'texts', floor: { list: () => shapes.ExportFloor } } },
  ExportFloor: { fields: { currency: 'text', minimum: 'figure', balance: 'figure' } },
  ExportOrder: { fields: { idempotencyKey: { optional: 'text' }, recipientPublicKey: { optional: 'text' } } },
  Exported: { fields: { exported: { fields: { id: 'text', address: 'text', secretKey: { optional: 'text' }, sealedSecretKey: { optional: 'text' } } }, wallet: () => shapes.Wallet } },
  Identity: { fields: { id: 'text', type: 'text', externalId: 'text', profile: 'textsByName' } },
  WalletSummary: { fields: { id: 'text', address: 'text', environment: ['test', 'live'], custody: 'text', status: 'text' } },
  User: { fields: { id: 'text', appId: 'text', primaryIdentity: () => shapes.Identity, identities: { list: () => shapes.Identity }, wallets: { list: () => shapes.WalletSummary }, createdAt: 'text' } },
  VerifiedSession: { fields: { userId: 'text', appId: 'text', environment: ['test', 'live'], authMethod: 'text', walletAddress: { nullable: 'text' }, wallets: { list: () => shapes.WalletSummary }, identities: { list: () => shapes.Identity } } },
  Session: { fields: { accessToken: 'text', refreshToken: 'text', expiresAt: 'text', user: () => shapes.User } },
  SiwsChallenge: { fields: { nonce: 'text', domain: 'text', statement: 'text', uri: 'text', issuedAt: 'text', expiresAt: 'text', message: 'text' } },
  EmailInitiated: { fields: { sent: 'boolean', expiresAt: 'text' } },
  Me: { fields: { user: () => shapes.User, wallet: { nullable: () => shapes.WalletSummary } } },
  UserEventData: { fields: { id: 'text', environment: ['test', 'live'] } },
  WalletCreatedEventData: { fields: { id: 'text', userId: 'text', address: 'text', custody: 'text', status: 'text' } },
  WalletLeftEventData: { fields: { id: 'text', userId: 'text', environment: ['test', 'live'], address: 'text', newWalletId: 'text', newAddress: 'text' } },
  ComplianceEventData: { fields: { id: 'text', userId: 'text', environment: ['test', 'live'], reason: { nullable: 'text' } } },
  MoveEventData: { fields: { id: 'text', ref: 'text', kind: ['deposit', 'withdraw'], userId: 'text', currency: { nullable: 'number' }, amount: 'figure', signature: { nullable: 'text' }, environment: ['test', 'live'], code: { nullable: 'text' }, error: { nullable: () => shapes.MoveError } } },
  UserCreatedEvent: { fields: { id: 'text', type: ['user.created'], createdAt: 'text', appId: 'text', environment: ['test', 'live'], sequence: 'number', data: () => shapes.UserEventData, previousSequence: { nullable: 'number' } } },
  UserSuspendedEvent: { fields: { id: 'text', type: ['user.suspended'], createdAt: 'text', appId: 'text', environment: ['test', 'live'], sequence: 'number', data: () => shapes.UserEventData, previousSequence: { nullable: 'number' } } },
  WalletCreatedEvent: { fields: { id: 'text', type: ['wallet.created'], createdAt: 'text', appId: 'text', environment: ['test', 'live'], sequence: 'number', data: () => shapes.WalletCreatedEventData, previousSequence: { nullable: 'number' } } },
  WalletExportedEvent: { fields: { id: 'text', type: ['wallet.exported'], createdAt: 'text', appId: 'text', environment: ['test', 'live'], sequence: 'number', data: () => shapes.WalletLeftEventData, previousSequence: { nullable: 'number' } } },
  WalletMigratedEvent: { fields: { id: 'text', type: ['wallet.migrated'], createdAt: 'text', appId: 'text', environment: ['test', 'live'], sequence: 'number', data: () => shapes.WalletLeftEventData, previousSequence: { nullable: 'number' } } },
  CompliancePassedEvent: { fields: { id: 'text', type: ['compliance.passed'], createdAt: 'text', appId: 'text', environment: ['test', 'live'], sequence: 'number', data: () => shapes.ComplianceEventData, previousSequence: { nullable: 'number' } } },
  ComplianceFailedEvent: { fields: { id: 'text', type: ['compliance.failed'], createdAt: 'text', appId: 'text', environment: ['test', 'live'], sequence: 'number', data: () => shapes.ComplianceEventData, previousSequence: { nullable: 'number' } } },
  ComplianceReviewRequiredEvent: { fields: { id: 'text', type: ['compliance.review_required'], createdAt: 'text', appId: 'text', environment: ['test', 'live'], sequence: 'number', data: () => shapes.ComplianceEventData, previousSequence: { nullable: 'number' } } },
  DepositReceivedEvent: { fields: { id: 'text', type: ['deposit.received'], createdAt: 'text', appId: 'text', environment: ['test', 'live'], sequence: 'number', data: () => shapes.MoveEventData, previousSequence: { nullable: 'number' } } },
  WithdrawalCompletedEvent: { fields: { id: 'text', type: ['withdrawal.completed'], createdAt: 'text', appId: 'text', environment: ['test', 'live'], sequence: 'number', data: () => shapes.MoveEventData, previousSequence: { nullable: 'number' } } },
  WithdrawalFailedEvent: { fields: { id: 'text', type: ['withdrawal.failed'], createdAt: 'text', appId: 'text', environment: ['test', 'live'], sequence: 'number', data: () => shapes.MoveEventData, previousSequence: { nullable: 'number' } } },
};
