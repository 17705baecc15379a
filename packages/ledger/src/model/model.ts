/**
 * The contract, executable: what the ledger answers to a sequence of operations, in plain maps. Written from
 * the contract (Common rules, Money model, Ledger) and not from the deciders, which are compared with it.
 * It throws on what it was not taught instead of guessing.
 */
import type { Answer, Books, Operation } from './operations.ts';

interface Account {
  available: bigint;
  held: bigint;
  readonly entries: Map<string, { readonly request: Request; readonly body: object }>;
}

interface Session {
  readonly owner: { readonly userId: string; readonly currency: string };
  readonly lockAmount: bigint;
  readonly openBody: object;
  readonly openRequest: Request;
  readonly kept: Map<string, { readonly request: Request; readonly body: object }>;
  readonly bets: Map<string, { readonly stake: bigint; won: boolean; rolledBack: boolean }>;
  readonly remembered: Set<string>;
  balance: bigint;
  totalWin: bigint;
  settledBody: object | undefined;
}

/** What makes a repeat a repeat: the operation, then its columns in order. */
type Request = readonly (readonly [field: string, value: string | undefined])[];

class Refusal extends Error {
  readonly code: string;
  readonly details: object;
  constructor(code: string, details: object = {}) {
    super(code);
    this.code = code;
    this.details = details;
  }
}

export interface Model {
  apply(operation: Operation): Answer;
  books(currency: string): Books;
}

export function createModel(known: {
  readonly users: readonly string[];
  readonly currencies: readonly string[];
}): Model {
  const accounts = new Map<string, Account>();
  const sessions = new Map<string, Session>();
  const house = new Map<string, bigint>();
  const adjustments = new Map<string, bigint>();

  const accountOf = ({
    userId,
    currency,
  }: {
    readonly userId: string;
    readonly currency: string;
  }): Account => {
    const key = `${userId} ${currency}`;
    const account = accounts.get(key) ?? { available: 0n, held: 0n, entries: new Map() };
    accounts.set(key, account);
    return account;
  };

  const sessionOf = (sessionId: string): Session => {
    const session = sessions.get(sessionId);
    if (!session) throw new Refusal('ledger/session_not_found');
    return session;
  };

  function adjust(operation: Extract<Operation, { op: 'credit' | 'debit' }>): Answer {
    const { op, ref, currency } = operation;
    const amount = BigInt(operation.amount);
    const account = accountOf(operation);
    const request: Request = [
      ['operation', op],
      ['amount', operation.amount],
      ['reason', operation.reason],
    ];
    const seen = account.entries.get(ref);
    if (seen) {
      const field = firstDifference(seen.request, request);
      if (field) throw new Refusal('accounts/idempotency_conflict', { key: ref, field });
      return replay(seen.body);
    }
    if (op === 'debit' && amount > account.available) {
      throw new Refusal('accounts/insufficient_funds', {
        available: text(account.available),
        amount: text(amount),
      });
    }
    const change = op === 'credit' ? amount : -amount;
    account.available += change;
    add(adjustments, currency, change);
    const body = figures(account);
    account.entries.set(ref, { request, body });
    return first(body);
  }

  function open(operation: Extract<Operation, { op: 'open' }>): Answer {
    const { userId, gameCode, currency, lockAmount, transactionUuid, chosen } = operation;
    const { sessionId, openedAt } = chosen;
    if (!known.users.includes(userId)) throw new Refusal('users/not_found');
    if (!known.currencies.includes(currency)) throw new Refusal('ledger/unknown_currency');
    const openRequest: Request = [
      ['operation', 'open'],
      ['userId', userId],
      ['gameCode', gameCode],
      ['currency', currency],
      ['lockAmount', lockAmount],
    ];
    const seen = sessions.get(sessionId);
    if (seen) {
      // The id follows from the uuid, so only a uuid can lead to a session that is there already.
      if (transactionUuid === undefined) throw new Error('not taught: two sessions of one id');
      const field = firstDifference(seen.openRequest, openRequest);
      if (field) throw new Refusal('ledger/transaction_conflict', { transactionUuid, field });
      return replay(seen.openBody);
    }
    const account = accountOf({ userId, currency });
    const lock = BigInt(lockAmount);
    if (lock > account.available) {
      throw new Refusal('ledger/insufficient_funds', {
        available: text(account.available),
        amount: lockAmount,
      });
    }
    account.available -= lock;
    account.held += lock;
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
    sessions.set(sessionId, {
      owner: { userId, currency },
      lockAmount: lock,
      openBody,
      openRequest,
      kept: new Map(),
      bets: new Map(),
      remembered: new Set(),
      balance: lock,
      totalWin: 0n,
      settledBody: undefined,
    });
    return first(openBody);
  }

  function bet({ sessionId, transactionUuid, amount, roundId }: Extract<Operation, { op: 'bet' }>): Answer {
    const session = sessionOf(sessionId);
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
    session.balance -= stake;
    session.bets.set(transactionUuid, { stake, won: false, rolledBack: false });
    const balance = text(session.balance);
    return keep(session, transactionUuid, request, {
      sessionId,
      transactionUuid,
      amount,
      balance,
      status: 'accepted',
    });
  }

  function win(operation: Extract<Operation, { op: 'win' }>): Answer {
    const { sessionId, transactionUuid, betTransactionUuid, amount, roundId } = operation;
    refuseSelfReference(operation);
    const session = sessionOf(sessionId);
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
    session.balance += BigInt(amount);
    session.totalWin += BigInt(amount);
    target.won = true;
    const balance = text(session.balance);
    return keep(session, transactionUuid, request, {
      sessionId,
      transactionUuid,
      betTransactionUuid,
      amount,
      balance,
      status: 'accepted',
    });
  }

  function rollback(operation: Extract<Operation, { op: 'rollback' }>): Answer {
    const { sessionId, transactionUuid, betTransactionUuid } = operation;
    refuseSelfReference(operation);
    const session = sessionOf(sessionId);
    const request: Request = [
      ['operation', 'rollback'],
      ['betTransactionUuid', betTransactionUuid],
    ];
    const seen = keptBefore(session, transactionUuid, request);
    if (seen) return seen;
    const target = session.bets.get(betTransactionUuid);
    if (!target && session.kept.has(betTransactionUuid)) throw new Refusal('ledger/not_a_bet');
    const body = (amount: bigint, status: string) => ({
      sessionId,
      transactionUuid,
      betTransactionUuid,
      amount: text(amount),
      balance: text(session.balance),
      status,
    });
    if (target?.rolledBack) return first(body(0n, 'already_rolled_back'));
    if (session.remembered.has(betTransactionUuid)) return first(body(0n, 'remembered'));
    if (target?.won) throw new Refusal('ledger/bet_already_won');
    if (!target) {
      session.remembered.add(betTransactionUuid);
      return keep(session, transactionUuid, request, body(0n, 'remembered'));
    }
    target.rolledBack = true;
    if (session.settledBody) {
      accountOf(session.owner).available += target.stake;
      add(house, session.owner.currency, -target.stake);
    } else {
      session.balance += target.stake;
    }
    return keep(session, transactionUuid, request, body(target.stake, 'rolled_back'));
  }

  function settle({ sessionId, transactionUuid, chosen }: Extract<Operation, { op: 'settle' }>): Answer {
    const session = sessionOf(sessionId);
    const { owner, lockAmount, balance: payout, totalWin } = session;
    const request: Request = [['operation', 'settle']];
    const seen = transactionUuid === undefined ? undefined : keptBefore(session, transactionUuid, request);
    if (seen) return seen;
    if (session.settledBody) return replay(session.settledBody);
    const stakes = [...session.bets.values()].filter(({ rolledBack }) => !rolledBack);
    session.settledBody = {
      sessionId,
      userId: owner.userId,
      currency: owner.currency,
      lockAmount: text(lockAmount),
      totalBet: text(stakes.reduce((sum, { stake }) => sum + stake, 0n)),
      totalWin: text(totalWin),
      payout: text(payout),
      net: text(payout - lockAmount),
      status: 'settled',
      settledAt: chosen.settledAt,
    };
    const account = accountOf(owner);
    account.held -= lockAmount;
    account.available += payout;
    add(house, owner.currency, lockAmount - payout);
    if (transactionUuid === undefined) return first(session.settledBody);
    return keep(session, transactionUuid, request, session.settledBody);
  }

  function balance(sessionId: string): Answer {
    const session = sessionOf(sessionId);
    return first({
      sessionId,
      ...session.owner,
      balance: text(session.balance),
      status: session.settledBody ? 'settled' : 'open',
    });
  }

  function answer(operation: Operation): Answer {
    switch (operation.op) {
      case 'credit':
      case 'debit':
        return adjust(operation);
      case 'figures':
        return first(figures(accountOf(operation)));
      case 'open':
        return open(operation);
      case 'bet':
        return bet(operation);
      case 'win':
        return win(operation);
      case 'rollback':
        return rollback(operation);
      case 'balance':
        return balance(operation.sessionId);
      case 'settle':
        return settle(operation);
    }
  }

  return {
    apply(operation) {
      try {
        return answer(operation);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return { accepted: false, code: error.code, details: error.details };
      }
    },
    books(currency) {
      const own = [...accounts].filter(([key]) => key.endsWith(` ${currency}`)).map(([, account]) => account);
      return {
        available: own.reduce((sum, { available }) => sum + available, 0n),
        held: own.reduce((sum, { held }) => sum + held, 0n),
        house: house.get(currency) ?? 0n,
        adjustments: adjustments.get(currency) ?? 0n,
      };
    },
  };
}

const text = (value: bigint) => value.toString();
const figures = ({ available, held }: Account) => ({ available: text(available), held: text(held) });
const first = (body: object): Answer => ({ accepted: true, body, replayed: false });
const replay = (body: object): Answer => ({ accepted: true, body, replayed: true });

function add(totals: Map<string, bigint>, currency: string, amount: bigint): void {
  totals.set(currency, (totals.get(currency) ?? 0n) + amount);
}

function keep(session: Session, transactionUuid: string, request: Request, body: object): Answer {
  session.kept.set(transactionUuid, { request, body });
  return first(body);
}

function keptBefore(session: Session, transactionUuid: string, request: Request): Answer | undefined {
  const seen = session.kept.get(transactionUuid);
  if (!seen) return undefined;
  const field = firstDifference(seen.request, request);
  if (field) throw new Refusal('ledger/transaction_conflict', { transactionUuid, field });
  return replay(seen.body);
}

/** Another operation has other columns, but there the first of them differs already. */
function firstDifference(kept: Request, request: Request): string | undefined {
  const values = new Map(kept);
  return request.find(([field, value]) => values.get(field) !== value)?.[0];
}

function refuseSelfReference(operation: {
  readonly transactionUuid: string;
  readonly betTransactionUuid: string;
}): void {
  if (operation.transactionUuid === operation.betTransactionUuid) {
    throw new Error('not taught: a write that names itself is refused by its schema');
  }
}
