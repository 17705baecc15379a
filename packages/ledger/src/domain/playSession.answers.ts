/** What a decision on a play session answers. Each is made of the state alone, so a repeat finds it again. */
import {
  type AccountOwner,
  type KnownSession,
  ownerOf,
  type Rollback,
  type SessionTerms,
  type SettledSession,
} from './playSession.state.ts';

export type PlaySessionAnswer =
  | OpenedAnswer
  | LostAnswer
  | BetAnswer
  | WinAnswer
  | RollbackAnswer
  | SettledAnswer;

export interface OpenedAnswer {
  readonly outcome: 'opened';
  readonly sessionId: string;
  readonly userId: string;
  readonly gameCode: string;
  readonly currency: string;
  readonly currencyId: number;
  readonly lockAmount: bigint;
  readonly openedAt: string;
}

/** Another request opened the session first. No event; the caller makes the conflict of it. */
export interface LostAnswer {
  readonly outcome: 'lost';
  /** The first field that differs. */
  readonly field: string;
  /** Whose account the session holds: only a loser with another one gives its own hold back. */
  readonly owner: AccountOwner;
}

export interface BetAnswer {
  readonly outcome: 'betAccepted';
  readonly sessionId: string;
  readonly transactionUuid: string;
  readonly amount: bigint;
  readonly balance: bigint;
}

export interface WinAnswer {
  readonly outcome: 'winAccepted';
  readonly sessionId: string;
  readonly transactionUuid: string;
  readonly betTransactionUuid: string;
  readonly amount: bigint;
  readonly balance: bigint;
}

export interface RollbackAnswer {
  readonly outcome: 'rollback';
  readonly sessionId: string;
  readonly transactionUuid: string;
  readonly betTransactionUuid: string;
  /** Zero unless rolled back. */
  readonly amount: bigint;
  readonly balance: bigint;
  readonly status: 'rolled_back' | 'remembered' | 'already_rolled_back';
  /**
   * After the settlement, also when repeated: the account to credit because of the event at the revision. Undefined
   * where the stake was nothing: what moves nothing makes no entry.
   */
  readonly late: (AccountOwner & { readonly revision: number }) | undefined;
}

export interface SettledAnswer {
  readonly outcome: 'settled';
  readonly sessionId: string;
  readonly userId: string;
  readonly currency: string;
  readonly currencyId: number;
  readonly lockAmount: bigint;
  readonly totalBet: bigint;
  readonly totalWin: bigint;
  readonly payout: bigint;
  readonly net: bigint;
  readonly settledAt: string;
  /** Of the event that settled: the cause of closing the hold. */
  readonly revision: number;
}

export function openedAnswer({ transactionUuid: _, ...terms }: SessionTerms): OpenedAnswer {
  return { outcome: 'opened', ...terms };
}

export function betAnswer(
  { terms }: KnownSession,
  { transactionUuid, amount }: Pick<BetAnswer, 'transactionUuid' | 'amount'>,
  balance: bigint,
): BetAnswer {
  return { outcome: 'betAccepted', sessionId: terms.sessionId, transactionUuid, amount, balance };
}

export function winAnswer(
  { terms }: KnownSession,
  { transactionUuid, betTransactionUuid, amount }: Pick<WinAnswer, keyof BetReference | 'amount'>,
  balance: bigint,
): WinAnswer {
  const { sessionId } = terms;
  return { outcome: 'winAccepted', sessionId, transactionUuid, betTransactionUuid, amount, balance };
}

interface BetReference {
  readonly transactionUuid: string;
  readonly betTransactionUuid: string;
}

export function rolledBackAnswer(
  { terms }: KnownSession,
  { transactionUuid, betTransactionUuid }: BetReference,
  { amount, balance, late, revision }: Omit<Rollback, 'kind' | 'betTransactionUuid'>,
): RollbackAnswer {
  return {
    outcome: 'rollback',
    sessionId: terms.sessionId,
    transactionUuid,
    betTransactionUuid,
    amount,
    balance,
    status: 'rolled_back',
    late: late && amount > 0n ? { ...ownerOf(terms), revision } : undefined,
  };
}

/** A rollback that moved nothing. */
export function unmovedAnswer(
  { terms }: KnownSession,
  { transactionUuid, betTransactionUuid }: BetReference,
  status: 'remembered' | 'already_rolled_back',
  balance: bigint,
): RollbackAnswer {
  return {
    outcome: 'rollback',
    sessionId: terms.sessionId,
    transactionUuid,
    betTransactionUuid,
    amount: 0n,
    balance,
    status,
    late: undefined,
  };
}

export function settledAnswer({
  terms,
  settlement,
}: Pick<SettledSession, 'terms' | 'settlement'>): SettledAnswer {
  const { sessionId, userId, currency, currencyId, lockAmount } = terms;
  return { outcome: 'settled', sessionId, userId, currency, currencyId, lockAmount, ...settlement };
}
