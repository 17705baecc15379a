/**
 * The JSON bodies of the ledger, keys in the documented order. Source: contract, Ledger.
 * A body never changes: a repeat years later is answered with the very same bytes.
 */
import type {
  BetAnswer,
  LostAnswer,
  OpenedAnswer,
  PlaySessionAnswer,
  RollbackAnswer,
  SettledAnswer,
  WinAnswer,
} from './playSession.answers.ts';
import type { KnownSession } from './playSession.state.ts';

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
