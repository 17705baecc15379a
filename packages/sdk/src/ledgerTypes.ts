/** What the ledger takes and answers in addition to the API's own resources. Source: contract, Ledger. */
import type {
  BetRequest,
  CreditedWin,
  Opened,
  PlacedBet,
  ReconcileCheck,
  Reconciled,
  RollbackRequest,
  RolledBackBet,
  WinRequest,
} from './api.ts';
import type { CofferError } from './cofferError.ts';

/** Whether the service had already acted under this key, and repeated its earlier answer. */
export interface Replayable {
  readonly replayed: boolean;
}

export interface OpenedSession extends Opened {
  /** The key that the session was opened under. */
  readonly transactionUuid: string;
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
  /** 1 to 1,000, executed in this order. A win may name a bet of the same batch. */
  readonly operations: readonly BatchOperation[];
}
/** What the single call would have answered. A batch does not tell which results are replays. */
export type BatchResult =
  | { readonly op: 'bet'; readonly ok: true; readonly answer: PlacedBet }
  | { readonly op: 'win'; readonly ok: true; readonly answer: CreditedWin }
  | { readonly op: 'rollback'; readonly ok: true; readonly answer: RolledBackBet }
  | { readonly op: BatchOperation['op']; readonly ok: false; readonly error: CofferError };

export interface Discrepancy {
  readonly check: string;
  readonly subject: string;
  /** Null if there must be nothing. */
  readonly expected: unknown;
  /** Null if there is nothing. */
  readonly actual: unknown;
}
export type ReconcileReport =
  | (Omit<Reconciled, 'ok'> & { readonly ok: true })
  | {
      readonly ok: false;
      readonly position: string;
      readonly checks: readonly ReconcileCheck[];
      readonly discrepancies: readonly Discrepancy[];
    };
