/** The ledger's shapes as the SDK hands them out. Amounts are bigint base units. Source: contract, Ledger. */
import type { CofferError } from './cofferError.ts';

/** Whether the service had acted under this key before, and answered as it did then. */
export interface Replayable {
  readonly replayed: boolean;
}

export interface OpenRequest {
  readonly userId: string;
  readonly gameCode: string;
  /** The app's currency code. */
  readonly currency: string;
  readonly lockAmount: bigint;
  /** Made when it is not given, once for all attempts of the call. */
  readonly transactionUuid?: string;
}
export interface BetRequest {
  readonly sessionId: string;
  readonly amount: bigint;
  readonly roundId?: string;
  readonly transactionUuid?: string;
}
export interface WinRequest {
  readonly sessionId: string;
  readonly betTransactionUuid: string;
  readonly amount: bigint;
  readonly roundId?: string;
  readonly transactionUuid?: string;
}
export interface RollbackRequest {
  readonly sessionId: string;
  readonly betTransactionUuid: string;
  readonly transactionUuid?: string;
}
export interface SettleRequest {
  readonly sessionId: string;
  readonly transactionUuid?: string;
}

export interface OpenedSession {
  readonly sessionId: string;
  readonly userId: string;
  readonly gameCode: string;
  readonly currency: string;
  readonly lockAmount: bigint;
  readonly balance: bigint;
  readonly status: 'open';
  readonly openedAt: string;
  /** The key that the session was opened under. */
  readonly transactionUuid: string;
}
export interface PlacedBet {
  readonly sessionId: string;
  readonly transactionUuid: string;
  readonly amount: bigint;
  readonly balance: bigint;
  readonly status: 'accepted';
}
export interface CreditedWin extends PlacedBet {
  readonly betTransactionUuid: string;
}
export interface RolledBackBet {
  readonly sessionId: string;
  readonly transactionUuid: string;
  readonly betTransactionUuid: string;
  /** 0 unless `rolled_back`. */
  readonly amount: bigint;
  readonly balance: bigint;
  readonly status: 'rolled_back' | 'remembered' | 'already_rolled_back';
}
export interface SessionBalance {
  readonly sessionId: string;
  readonly userId: string;
  readonly currency: string;
  /** After the settlement: the payout. */
  readonly balance: bigint;
  readonly status: 'open' | 'settled';
}
export interface SettledSession {
  readonly sessionId: string;
  readonly userId: string;
  readonly currency: string;
  readonly lockAmount: bigint;
  readonly totalBet: bigint;
  readonly totalWin: bigint;
  readonly payout: bigint;
  /** May be negative. */
  readonly net: bigint;
  readonly status: 'settled';
  readonly settledAt: string;
}

/** A session with its totals; what only a settled one has is null until then. */
export interface SessionDetails {
  readonly sessionId: string;
  readonly userId: string;
  readonly gameCode: string;
  readonly currency: string;
  readonly lockAmount: bigint;
  readonly balance: bigint;
  readonly status: 'open' | 'settled';
  readonly openedAt: string;
  readonly totalBet: bigint;
  readonly totalWin: bigint;
  readonly payout: bigint | null;
  readonly net: bigint | null;
  readonly settledAt: string | null;
}
export interface Transaction {
  readonly transactionUuid: string;
  readonly kind: 'bet' | 'win' | 'rollback';
  readonly amount: bigint;
  readonly betTransactionUuid: string | null;
  readonly roundId: string | null;
  readonly status: 'accepted' | 'rolled_back' | 'remembered';
  readonly balance: bigint;
  readonly at: string;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** For the next page; null when there is none. */
  readonly nextCursor: string | null;
}
export interface PageQuery {
  /** 1 to 200; default 50. */
  readonly limit?: number;
  readonly cursor?: string;
}
export interface SessionsQuery extends PageQuery {
  readonly userId?: string;
  readonly status?: 'open' | 'settled';
}

export type BatchOperation =
  | ({ readonly op: 'bet' } & Omit<BetRequest, 'sessionId'>)
  | ({ readonly op: 'win' } & Omit<WinRequest, 'sessionId'>)
  | ({ readonly op: 'rollback' } & Omit<RollbackRequest, 'sessionId'>);

export interface BatchRequest {
  readonly sessionId: string;
  /** 1 to 1,000, done in this order. A win may name a bet of the same batch. */
  readonly operations: readonly BatchOperation[];
}
/** What the single call would have answered. A batch does not say what of it is a replay. */
export type BatchResult =
  | { readonly op: 'bet'; readonly ok: true; readonly answer: PlacedBet }
  | { readonly op: 'win'; readonly ok: true; readonly answer: CreditedWin }
  | { readonly op: 'rollback'; readonly ok: true; readonly answer: RolledBackBet }
  | { readonly op: BatchOperation['op']; readonly ok: false; readonly error: CofferError };

export interface ReconcileCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly examined: number;
}
export interface Discrepancy {
  readonly check: string;
  readonly subject: string;
  /** Null where there must be nothing. */
  readonly expected: unknown;
  /** Null where there is nothing. */
  readonly actual: unknown;
}
/** The seven of a currency, signed as the books have them, sum to zero. */
export interface Totals {
  readonly currency: string;
  readonly available: bigint;
  readonly held: bigint;
  readonly pools: bigint;
  readonly house: bigint;
  readonly referrals: bigint;
  readonly external: bigint;
  readonly adjustments: bigint;
}
export type ReconcileReport =
  | {
      readonly ok: true;
      readonly environment: 'test' | 'live';
      readonly position: string;
      readonly checkedAt: string;
      readonly mode: 'full' | 'incremental';
      readonly checks: readonly ReconcileCheck[];
      readonly inFlight: readonly { readonly reaction: string; readonly subject: string }[];
      readonly warnings: readonly {
        readonly code: string;
        readonly subject: string;
        readonly sessions: readonly string[];
      }[];
      readonly totals: readonly Totals[];
    }
  | {
      readonly ok: false;
      readonly position: string;
      readonly checks: readonly ReconcileCheck[];
      readonly discrepancies: readonly Discrepancy[];
    };
