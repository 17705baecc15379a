/**
 * What a decision on a play session answers, and the resulting bodies. Each is made from the state alone, so a repeat
 * gets it again.
 */
import { encoderOf } from '@coffer/kernel';
import type { z } from 'zod';
import * as resource from './playSession.resource.ts';
import type {
  AccountOwner,
  KnownSession,
  SessionFacts,
  SessionTerms,
  SettledSession,
} from './playSession.state.ts';

export type PlaySessionAnswer =
  | OpenedAnswer
  | LostAnswer
  | BetAnswer
  | WinAnswer
  | RollbackAnswer
  | SettledAnswer;

type Answer<Outcome extends string, Resource extends z.ZodType> = Readonly<z.output<Resource>> & {
  readonly outcome: Outcome;
};

export type OpenedAnswer = Answer<'opened', typeof resource.openedSession> & { readonly currencyId: number };
export type BetAnswer = Answer<'betAccepted', typeof resource.placedBet>;
export type WinAnswer = Answer<'winAccepted', typeof resource.creditedWin>;

/** Another request opened the session first. No event; the caller turns this into the conflict. */
export interface LostAnswer {
  readonly outcome: 'lost';
  /** The first field that differs. */
  readonly field: string;
  /** Whose account the session holds: a loser with a different one gives its own hold back. */
  readonly owner: AccountOwner;
}

export type RollbackAnswer = Answer<'rollback', typeof resource.rolledBackBet> & {
  /**
   * After the settlement, even in a repeat: the account to credit because of the event at the revision. Undefined if
   * the stake was zero: what moves nothing makes no entry.
   */
  readonly late: (AccountOwner & { readonly revision: number }) | undefined;
};

export type SettledAnswer = Answer<'settled', typeof resource.settledSession> & {
  readonly currencyId: number;
  /** The revision of the event that settled, which causes the closing of the hold. */
  readonly revision: number;
};

export function openedAnswer({ transactionUuid: _, ...terms }: SessionTerms): OpenedAnswer {
  return { outcome: 'opened', ...terms, balance: terms.lockAmount, status: 'open' };
}

export function betAnswer(
  { terms }: KnownSession,
  { transactionUuid, amount }: resource.BetContent,
  balance: bigint,
): BetAnswer {
  const { sessionId } = terms;
  return { outcome: 'betAccepted', sessionId, transactionUuid, amount, balance, status: 'accepted' };
}

export function winAnswer(
  { terms }: KnownSession,
  { transactionUuid, betTransactionUuid, amount }: resource.WinContent,
  balance: bigint,
): WinAnswer {
  const { sessionId } = terms;
  return {
    outcome: 'winAccepted',
    sessionId,
    transactionUuid,
    betTransactionUuid,
    amount,
    balance,
    status: 'accepted',
  };
}

interface RolledBack {
  readonly amount: bigint;
  readonly balance: bigint;
  /** Undefined before the settlement. */
  readonly late: AccountOwner | undefined;
  readonly revision: number;
}

export function rolledBackAnswer(
  { terms }: KnownSession,
  { transactionUuid, betTransactionUuid }: resource.RollbackContent,
  { amount, balance, late, revision }: RolledBack,
): RollbackAnswer {
  return {
    outcome: 'rollback',
    sessionId: terms.sessionId,
    transactionUuid,
    betTransactionUuid,
    amount,
    balance,
    status: 'rolled_back',
    late: late && amount > 0n ? { ...late, revision } : undefined,
  };
}

/** A rollback that moved nothing. */
export function unmovedAnswer(
  { terms }: KnownSession,
  { transactionUuid, betTransactionUuid }: resource.RollbackContent,
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
  return {
    outcome: 'settled',
    sessionId,
    userId,
    currency,
    currencyId,
    lockAmount,
    ...settlement,
    status: 'settled',
  };
}

// Bodies

const opened = encoderOf(resource.openedSession);
const placed = encoderOf(resource.placedBet);
const credited = encoderOf(resource.creditedWin);
const rolledBack = encoderOf(resource.rolledBackBet);
const settled = encoderOf(resource.settledSession);
const balanced = encoderOf(resource.sessionBalance);
const detailed = encoderOf(resource.sessionDetails);

/** The body of any answer that has one. */
export function answerBody(answer: Exclude<PlaySessionAnswer, LostAnswer>) {
  switch (answer.outcome) {
    case 'opened':
      return opened(answer);
    case 'betAccepted':
      return placed(answer);
    case 'winAccepted':
      return credited(answer);
    case 'rollback':
      return rolledBack(answer);
    case 'settled':
      return settled(answer);
  }
}

/** `POST /ledger/balance`: after the settlement the payout. */
export function balanceBody({ terms, balance, status }: SessionFacts) {
  return balanced({ ...terms, balance, status });
}

/** A session as it is now: the body of the opening, with totals; the settlement's are null before it. */
export function detailsBody(session: SessionFacts) {
  const { terms, balance, status, totalBet, totalWin } = session;
  const { payout, net, settledAt } =
    session.status === 'settled' ? session.settlement : { payout: null, net: null, settledAt: null };
  return detailed({ ...terms, balance, status, totalBet, totalWin, payout, net, settledAt });
}
