/** The report of a reconciliation. Source: contract, Ledger, GET /ledger/reconcile. */
import type { Environment } from '@coffer/kernel';
import type { TrialBalance } from '@coffer/read-models';

/** Whose books: reconciled separately, as money never crosses between them. */
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

/** Something that differs from what the log says it must be. */
export interface Discrepancy {
  readonly check: string;
  /** What is wrong: a stream, a row's key, a hold or a book. */
  readonly subject: string;
  /** Null: there must be none. */
  readonly expected: Figures | null;
  /** Null: there is none. */
  readonly actual: Figures | null;
}

/** Something decided whose effect on the account is still to come. */
export interface InFlight {
  readonly reaction: string;
  /** The account's stream, and the hold or entry on it. */
  readonly subject: string;
}

/** Something that is allowed but should be looked at. */
export type Warning = SharedTransactionUuid | SkippedEvent;

interface SharedTransactionUuid {
  readonly code: 'transaction_uuid_in_two_sessions';
  readonly subject: string;
  readonly sessions: readonly string[];
}

/** An operator has told a consumer to skip this event: its effects are in none of that consumer's rows. */
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

/** `full`: everything was derived from the log again. `incremental`: on from what was verified before. */
export type Mode = 'full' | 'incremental';

export interface Report extends BooksPlace {
  readonly ok: boolean;
  /** The place in the log at which rows and fold were compared. */
  readonly position: string;
  /** ISO 8601 UTC with milliseconds. */
  readonly checkedAt: string;
  readonly mode: Mode;
  /** The place from which this run continued; null for a full one. */
  readonly verifiedFrom: string | null;
  readonly checks: readonly Check[];
  readonly inFlight: readonly InFlight[];
  readonly warnings: readonly Warning[];
  readonly totals: readonly TrialBalance[];
  /** At most 100 per check. */
  readonly discrepancies: readonly Discrepancy[];
}

/** Why no report is possible: it would cover less than it claims. */
export type CoverageGap =
  /** The read models do not reach the end that the log had when the run began. */
  | 'read_models_behind'
  /** What was decided more than a minute ago has not reached its account. */
  | 'process_behind'
  /** The log no longer holds what the rows were made from. */
  | 'log_rewritten'
  /** The run continues; its work so far is kept, and whoever asks again gets its result. */
  | 'still_running';

/** Incomplete coverage never yields a report. */
export class CoverageIncompleteError extends Error {
  override readonly name = 'CoverageIncompleteError';
  readonly gap: CoverageGap;

  constructor(gap: CoverageGap, message: string, options?: ErrorOptions) {
    super(message, options);
    this.gap = gap;
  }
}
