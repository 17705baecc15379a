/** What a play session remembers of its events: enough to decide, and to answer every repeat as before. */
import type { Map as PersistentMap, Set as PersistentSet } from 'immutable';

/** What the session was opened with. */
export interface SessionTerms {
  readonly sessionId: string;
  readonly userId: string;
  readonly gameCode: string;
  readonly currency: string;
  readonly currencyId: number;
  readonly lockAmount: bigint;
  readonly transactionUuid?: string | undefined;
  /** ISO 8601 UTC with milliseconds. */
  readonly openedAt: string;
}

/** Where the stake of a late rollback goes, and where the funds of a session came from. */
export interface AccountOwner {
  readonly userId: string;
  readonly currencyId: number;
}

/** A write that was kept, under its `transactionUuid`. `revision` is that of its event. */
export type Transaction = Bet | Win | Rollback | RememberedRollback | Settling;

export interface Bet {
  readonly kind: 'bet';
  readonly revision: number;
  readonly amount: bigint;
  readonly roundId: string | undefined;
  readonly balance: bigint;
  readonly fate: 'open' | 'won' | 'rolledBack';
}

export interface Win {
  readonly kind: 'win';
  readonly revision: number;
  readonly betTransactionUuid: string;
  readonly amount: bigint;
  readonly roundId: string | undefined;
  readonly balance: bigint;
}

export interface Rollback {
  readonly kind: 'rollback';
  readonly revision: number;
  readonly betTransactionUuid: string;
  readonly amount: bigint;
  readonly balance: bigint;
  readonly late: boolean;
}

export interface RememberedRollback {
  readonly kind: 'rememberedRollback';
  readonly revision: number;
  readonly betTransactionUuid: string;
  readonly balance: bigint;
}

export interface Settling {
  readonly kind: 'settle';
  readonly revision: number;
}

export interface Settlement {
  readonly totalBet: bigint;
  readonly totalWin: bigint;
  readonly payout: bigint;
  /** The player's result, negative when the house won: payout less lockAmount. */
  readonly net: bigint;
  /** ISO 8601 UTC with milliseconds. */
  readonly settledAt: string;
  /** Of the event. */
  readonly revision: number;
}

/** Nothing was ever written to the stream. */
export interface UnknownSession {
  readonly status: 'unknown';
  readonly revision: -1;
}

interface SessionFacts {
  /** Of the last event folded. */
  readonly revision: number;
  readonly terms: SessionTerms;
  readonly balance: bigint;
  /** Accepted bets less those rolled back before the settlement. */
  readonly totalBet: bigint;
  readonly totalWin: bigint;
  /** Persistent: waiting commands are decided on tentative states that may be dropped. */
  readonly transactions: PersistentMap<string, Transaction>;
  /** Bets whose rollback came first. */
  readonly rememberedBets: PersistentSet<string>;
}

export interface OpenSession extends SessionFacts {
  readonly status: 'open';
}

/** The balance is the payout from here on. */
export interface SettledSession extends SessionFacts {
  readonly status: 'settled';
  readonly settlement: Settlement;
}

export type KnownSession = OpenSession | SettledSession;
export type PlaySession = UnknownSession | KnownSession;
