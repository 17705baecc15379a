/** The life of a play session: opened, played and settled. */
import type { Asking } from '../operations.ts';
import { hold } from './money.ts';
import {
  type Decided,
  first,
  firstDifference,
  keep,
  keptBefore,
  type Ledger,
  openRequestOf,
  Refusal,
  type Request,
  refuseSelfReference,
  replay,
  sessionOf,
  stakesOf,
  text,
} from './state.ts';

export function open(ledger: Ledger, operation: Asking<'open'>): Decided {
  const { userId, gameCode, currency, lockAmount, transactionUuid, chosen } = operation;
  const { sessionId, openedAt } = chosen;
  if (!ledger.known.users.includes(userId)) throw new Refusal('users/not_found');
  if (!ledger.known.currencies.includes(currency)) throw new Refusal('ledger/unknown_currency');
  const openRequest = openRequestOf(operation);
  const seen = ledger.sessions.get(sessionId);
  if (seen) {
    // The id is derived from the uuid, so only a uuid can lead to an existing session.
    if (transactionUuid === undefined) throw new Error('not taught: two sessions of one id');
    const field = firstDifference(seen.openRequest, openRequest);
    if (field) throw new Refusal('ledger/transaction_conflict', { transactionUuid, field });
    return replay(seen.openBody);
  }
  const holding = hold(ledger, operation);
  const lock = BigInt(lockAmount);
  const openBody = {
    sessionId,
    userId,
    gameCode,
    currency,
    lockAmount,
    balance: lockAmount,
    status: 'open',
    openedAt,
  };
  return first(openBody, () => {
    if (holding.take) throw new Error('not taught: a session that nothing is held for');
    ledger.sessions.set(sessionId, {
      owner: { userId, currency },
      lockAmount: lock,
      terms: { gameCode, openedAt },
      openBody,
      openRequest,
      kept: new Map(),
      bets: new Map(),
      remembered: new Set(),
      late: new Map(),
      balance: lock,
      totalWin: 0n,
      settledBody: undefined,
      settled: undefined,
    });
  });
}

export function bet(ledger: Ledger, { sessionId, transactionUuid, amount, roundId }: Asking<'bet'>): Decided {
  const session = sessionOf(ledger, sessionId);
  const request: Request = [
    ['operation', 'bet'],
    ['amount', amount],
    ['roundId', roundId],
  ];
  const seen = keptBefore(session, transactionUuid, request);
  if (session.remembered.has(transactionUuid) || session.bets.get(transactionUuid)?.rolledBack) {
    throw new Refusal('ledger/bet_rolled_back', { balance: text(session.balance) });
  }
  if (seen) return seen;
  if (session.settledBody) throw new Refusal('ledger/session_settled');
  if (session.kept.size >= 100_000) throw new Error('not taught: a full session');
  const stake = BigInt(amount);
  if (stake > session.balance) {
    throw new Refusal('ledger/insufficient_balance', { balance: text(session.balance), amount });
  }
  const balance = session.balance - stake;
  const body = { sessionId, transactionUuid, amount, balance: text(balance), status: 'accepted' };
  return keep(session, transactionUuid, request, body, () => {
    session.balance = balance;
    session.bets.set(transactionUuid, { stake, won: false, rolledBack: false });
  });
}

export function win(ledger: Ledger, operation: Asking<'win'>): Decided {
  const { sessionId, transactionUuid, betTransactionUuid, amount, roundId } = operation;
  refuseSelfReference(operation);
  const session = sessionOf(ledger, sessionId);
  const request: Request = [
    ['operation', 'win'],
    ['betTransactionUuid', betTransactionUuid],
    ['amount', amount],
    ['roundId', roundId],
  ];
  const seen = keptBefore(session, transactionUuid, request);
  if (seen) return seen;
  const target = session.bets.get(betTransactionUuid);
  if (!target && session.kept.has(betTransactionUuid)) throw new Refusal('ledger/not_a_bet');
  if (target?.rolledBack || session.remembered.has(betTransactionUuid)) {
    throw new Refusal('ledger/bet_rolled_back', { balance: text(session.balance) });
  }
  if (session.settledBody) throw new Refusal('ledger/session_settled');
  if (!target) throw new Refusal('ledger/bet_not_found');
  const balance = session.balance + BigInt(amount);
  const body = {
    sessionId,
    transactionUuid,
    betTransactionUuid,
    amount,
    balance: text(balance),
    status: 'accepted',
  };
  return keep(session, transactionUuid, request, body, () => {
    session.balance = balance;
    session.totalWin += BigInt(amount);
    target.won = true;
  });
}

export function rollback(ledger: Ledger, operation: Asking<'rollback'>): Decided {
  const { sessionId, transactionUuid, betTransactionUuid } = operation;
  refuseSelfReference(operation);
  const session = sessionOf(ledger, sessionId);
  const request: Request = [
    ['operation', 'rollback'],
    ['betTransactionUuid', betTransactionUuid],
  ];
  const seen = keptBefore(session, transactionUuid, request);
  if (seen) return seen;
  const target = session.bets.get(betTransactionUuid);
  if (!target && session.kept.has(betTransactionUuid)) throw new Refusal('ledger/not_a_bet');
  const body = (amount: bigint, balance: bigint, status: string) => ({
    sessionId,
    transactionUuid,
    betTransactionUuid,
    amount: text(amount),
    balance: text(balance),
    status,
  });
  // Both record nothing.
  if (target?.rolledBack) return first(body(0n, session.balance, 'already_rolled_back'));
  const remembered = body(0n, session.balance, 'remembered');
  if (session.remembered.has(betTransactionUuid)) return first(remembered);
  if (target?.won) throw new Refusal('ledger/bet_already_won');
  if (!target) {
    return keep(session, transactionUuid, request, remembered, () => {
      session.remembered.add(betTransactionUuid);
    });
  }
  const { stake } = target;
  const isLate = session.settledBody !== undefined;
  const balance = isLate ? session.balance : session.balance + stake;
  return keep(session, transactionUuid, request, body(stake, balance, 'rolled_back'), () => {
    target.rolledBack = true;
    session.balance = balance;
    // A stake of zero leaves nothing to be paid.
    if (isLate && stake > 0n) session.late.set(transactionUuid, { stake, paid: false });
  });
}

export function settle(ledger: Ledger, { sessionId, transactionUuid, chosen }: Asking<'settle'>): Decided {
  const session = sessionOf(ledger, sessionId);
  const { owner, lockAmount, balance: payout, totalWin } = session;
  const request: Request = [['operation', 'settle']];
  const seen = transactionUuid === undefined ? undefined : keptBefore(session, transactionUuid, request);
  if (seen) return seen;
  if (session.settledBody) return replay(session.settledBody);
  const totalBet = stakesOf(session);
  const { settledAt } = chosen;
  const settledBody = {
    sessionId,
    userId: owner.userId,
    currency: owner.currency,
    lockAmount: text(lockAmount),
    totalBet: text(totalBet),
    totalWin: text(totalWin),
    payout: text(payout),
    net: text(payout - lockAmount),
    status: 'settled',
    settledAt,
  };
  const take = () => {
    session.settledBody = settledBody;
    session.settled = { totalBet, settledAt };
  };
  if (transactionUuid === undefined) return first(settledBody, take);
  return keep(session, transactionUuid, request, settledBody, take);
}

export function balance(ledger: Ledger, { sessionId }: Asking<'balance'>): Decided {
  const session = sessionOf(ledger, sessionId);
  return first({
    sessionId,
    ...session.owner,
    balance: text(session.balance),
    status: session.settledBody ? 'settled' : 'open',
  });
}
