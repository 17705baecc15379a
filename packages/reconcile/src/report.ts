/** What a reconciliation says. Source: contract, Ledger, GET /ledger/reconcile. */
import type { Environment } from '@coffer/kernel';
import type { TrialBalance } from '@coffer/read-models';

/** Whose books: reconciled on their own, as no money ever crosses. */
export interface BooksPlace {
  readonly appId: string;
  readonly environment: Environment;
}

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** How many things were looked at. */
  readonly examined: number;
}

type Figures = Readonly<Record<string, string | null>>;

/** Something that is not as the log says it must be. */
export interface Discrepancy {
  readonly check: string;
  /** A stream, a row's key, a hold, a book: what is wrong. */
  readonly subject: string;
  /** Null: there must be none. */
  readonly expected: Figures | null;
  /** Null: there is none. */
  readonly actual: Figures | null;
}

/** Something that has been decided and whose effect on the account is still to come. */
export interface InFlight {
  readonly reaction: string;
  /** The account's stream, and the hold or entry on it. */
  readonly subject: string;
}

/** Something that is allowed and yet to be looked at. */
export type Warning = SharedTransactionUuid | SkippedEvent;

interface SharedTransactionUuid {
  readonly code: 'transaction_uuid_in_two_sessions';
  readonly subject: string;
  readonly sessions: readonly string[];
}

/** An operator has told a consumer to pass over this event: what it did is in no row of that consumer's. */
export interface SkippedEvent {
  readonly code: 'event_skipped';
  /** Its stream and its revision. */
  readonly subject: string;
  readonly sessions: readonly [];
  readonly consumer: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly reason: string;
  readonly skippedAt: string;
}

/** `full`: everything was derived from the log anew. `incremental`: from what was verified before. */
export type Mode = 'full' | 'incremental';

export interface Report extends BooksPlace {
  readonly ok: boolean;
  /** The place in the log that rows and fold were compared at. */
  readonly position: string;
  /** ISO 8601 UTC with milliseconds. */
  readonly checkedAt: string;
  readonly mode: Mode;
  /** The place from which this run went on; null for a full one. */
  readonly verifiedFrom: string | null;
  readonly checks: readonly Check[];
  readonly inFlight: readonly InFlight[];
  readonly warnings: readonly Warning[];
  readonly totals: readonly TrialBalance[];
  /** At most 100 a check. */
  readonly discrepancies: readonly Discrepancy[];
}

/** Why nothing can be said: a report would cover less than it claims. */
export type CoverageGap =
  /** The read models do not reach the end that the log had when the run began. */
  | 'read_models_behind'
  /** What was decided more than a minute ago has not reached its account. */
  | 'process_behind'
  /** The log no longer holds what the rows were made of. */
  | 'log_rewritten'
  /** The run goes on; its part so far is kept, and who asks again gets what it finds. */
  | 'still_running';

/** Incomplete coverage is never a report. */
export class CoverageIncompleteError extends Error {
  override readonly name = 'CoverageIncompleteError';
  readonly gap: CoverageGap;

  constructor(gap: CoverageGap, message: string, options?: ErrorOptions) {
    super(message, options);
    this.gap = gap;
  }
}
