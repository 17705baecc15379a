/**
 * What a decision answers, and the JSON bodies made of it, keys in the documented order.
 * Source: contract, Ledger. A body never changes: a repeat years later is answered with the very same one.
 */
import type { AccountOwner, KnownSession } from './playSession.state.ts';

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
  /** After the settlement, also when repeated: the account to credit because of the event at the revision. */
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

export function openedBody(answer: OpenedAnswer) {
  return {
    sessionId: answer.sessionId,
    userId: answer.userId,
    gameCode: answer.gameCode,
    currency: answer.currency,
    lockAmount: answer.lockAmount.toString(),
    balance: answer.lockAmount.toString(),
    status: 'open',
    openedAt: answer.openedAt,
  } as const;
}

export function betBody(answer: BetAnswer) {
  return {
    sessionId: answer.sessionId,
    transactionUuid: answer.transactionUuid,
    amount: answer.amount.toString(),
    balance: answer.balance.toString(),
    status: 'accepted',
  } as const;
}

export function winBody(answer: WinAnswer) {
  return {
    sessionId: answer.sessionId,
    transactionUuid: answer.transactionUuid,
    betTransactionUuid: answer.betTransactionUuid,
    amount: answer.amount.toString(),
    balance: answer.balance.toString(),
    status: 'accepted',
  } as const;
}

export function rollbackBody(answer: RollbackAnswer) {
  return {
    sessionId: answer.sessionId,
    transactionUuid: answer.transactionUuid,
    betTransactionUuid: answer.betTransactionUuid,
    amount: answer.amount.toString(),
    balance: answer.balance.toString(),
    status: answer.status,
  };
}

export function settledBody(answer: SettledAnswer) {
  return {
    sessionId: answer.sessionId,
    userId: answer.userId,
    currency: answer.currency,
    lockAmount: answer.lockAmount.toString(),
    totalBet: answer.totalBet.toString(),
    totalWin: answer.totalWin.toString(),
    payout: answer.payout.toString(),
    net: answer.net.toString(),
    status: 'settled',
    settledAt: answer.settledAt,
  } as const;
}

/** The body of any answer that has one. */
export function answerBody(answer: Exclude<PlaySessionAnswer, LostAnswer>) {
  switch (answer.outcome) {
    case 'opened':
      return openedBody(answer);
    case 'betAccepted':
      return betBody(answer);
    case 'winAccepted':
      return winBody(answer);
    case 'rollback':
      return rollbackBody(answer);
    case 'settled':
      return settledBody(answer);
  }
}

/** `POST /ledger/balance`: after the settlement the payout. */
export function balanceBody({ terms, balance, status }: KnownSession) {
  return {
    sessionId: terms.sessionId,
    userId: terms.userId,
    currency: terms.currency,
    balance: balance.toString(),
    status,
  };
}

/** A session as it is now: the body of the opening, with totals; the settlement's are null before it. */
export function sessionBody(session: KnownSession) {
  const { terms, balance, status, totalBet, totalWin } = session;
  const settlement = session.status === 'settled' ? session.settlement : undefined;
  return {
    sessionId: terms.sessionId,
    userId: terms.userId,
    gameCode: terms.gameCode,
    currency: terms.currency,
    lockAmount: terms.lockAmount.toString(),
    balance: balance.toString(),
    status,
    openedAt: terms.openedAt,
    totalBet: totalBet.toString(),
    totalWin: totalWin.toString(),
    payout: settlement ? settlement.payout.toString() : null,
    net: settlement ? settlement.net.toString() : null,
    settledAt: settlement ? settlement.settledAt : null,
  };
}
