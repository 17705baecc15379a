/**
 * The contract, executable: what the ledger answers to a sequence of operations, in plain maps. Written from
 * the contract (Common rules, Money model, Ledger) and not from the deciders, which are compared with it.
 * It throws on what it was not taught instead of guessing.
 */
import type { Answer, Books, Contents, OpenTerms, Operation, Owed, Step } from './operations.ts';
import {
  type Account,
  add,
  type Decided,
  figures,
  first,
  firstDifference,
  keep,
  keptBefore,
  type Owner,
  openRequestOf,
  Refusal,
  type Request,
  refuseSelfReference,
  replay,
  type Session,
  stakesOf,
  takeAll,
  text,
} from './state.ts';

export interface Model {
  /** Does the operation. */
  apply(operation: Operation | Step): Answer;
  /** What the operation would be answered now, and whether it would then change anything; does nothing. */
  ask(operation: Operation | Step): { readonly answer: Answer; readonly acts: boolean };
  books(currency: string): Books;
  contents(): Contents;
  /** What has been decided and has not reached the player's funds, or the session it is held for. */
  owed(): readonly Owed[];
}

export interface ModelOptions {
  /**
   * `atOnce`: an open, a settlement and a late rollback move the money with them, as their callers see it.
   * `byStep`: they move none, and the steps of the money model (`hold`, `closeHold`, `creditRollback`) are
   * operations of their own, as in the log. Default `atOnce`.
   */
  readonly moneyMoves?: 'atOnce' | 'byStep';
}

export function createModel(
  known: { readonly users: readonly string[]; readonly currencies: readonly string[] },
  { moneyMoves = 'atOnce' }: ModelOptions = {},
): Model {
  const isByStep = moneyMoves === 'byStep';
  const accounts = new Map<string, Account>();
  const sessions = new Map<string, Session>();
  const house = new Map<string, bigint>();
  const adjustments = new Map<string, bigint>();

  const accountOf = ({ userId, currency }: Owner): Account => {
    const key = `${userId} ${currency}`;
    const owner = { userId, currency };
    const account = accounts.get(key) ?? {
      owner,
      available: 0n,
      held: 0n,
      entries: new Map(),
      holds: new Map(),
    };
    accounts.set(key, account);
    return account;
  };

  const sessionOf = (sessionId: string): Session => {
    const session = sessions.get(sessionId);
    if (!session) throw new Refusal('ledger/session_not_found');
    return session;
  };

  const isInPlay = (sessionId: string, { userId, currency }: Owner): boolean => {
    const session = sessions.get(sessionId);
    if (!session || session.settledBody) return false;
    return session.owner.userId === userId && session.owner.currency === currency;
  };

  function adjust(operation: Extract<Operation, { op: 'credit' | 'debit' }>): Decided {
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
    const body = figures({ ...account, available: account.available + change });
    return first(body, () => {
      account.available += change;
      add(adjustments, currency, change);
      account.entries.set(ref, { request, body });
    });
  }

  /** The step of an open that sets the funds apart, once a session. */
  function hold(operation: OpenTerms): Decided {
    const { lockAmount, transactionUuid, chosen } = operation;
    const account = accountOf(operation);
    const amount = BigInt(lockAmount);
    const request = openRequestOf(operation);
    const seen = account.holds.get(chosen.sessionId);
    if (seen) {
      const field = firstDifference(seen.request, request);
      if (field) throw new Refusal('ledger/transaction_conflict', { transactionUuid, field });
      return replay(figures(account));
    }
    if (amount > account.available) {
      throw new Refusal('ledger/insufficient_funds', {
        available: text(account.available),
        amount: lockAmount,
      });
    }
    const { available, held } = account;
    return first(figures({ available: available - amount, held: held + amount }), () => {
      account.available -= amount;
      account.held += amount;
      account.holds.set(chosen.sessionId, { amount, request, payout: undefined });
    });
  }

  /** The step that gives the player what is left: of a settlement, or of an open that another one won. */
  function closeHold({ userId, currency, sessionId }: Extract<Step, { op: 'closeHold' }>): Decided {
    const account = accountOf({ userId, currency });
    const opened = account.holds.get(sessionId);
    if (!opened) throw new Error(`not taught: closing what ${userId} never held`);
    const { amount } = opened;
    if (opened.payout !== undefined) return replay({ held: text(amount), payout: text(opened.payout) });
    const session = sessionOf(sessionId);
    const isOwn = session.owner.userId === userId && session.owner.currency === currency;
    if (isOwn && !session.settledBody) throw new Error(`not taught: closing the hold of open ${sessionId}`);
    const payout = isOwn ? session.balance : amount;
    return first({ held: text(amount), payout: text(payout) }, () => {
      opened.payout = payout;
      account.held -= amount;
      account.available += payout;
      add(house, currency, amount - payout);
    });
  }

  /** The step of a late rollback in which the house pays. */
  function creditRollback(operation: Extract<Step, { op: 'creditRollback' }>): Decided {
    const { sessionId, transactionUuid } = operation;
    const { owner, late } = sessionOf(sessionId);
    const due = late.get(transactionUuid);
    if (!due) throw new Error(`not taught: paying ${transactionUuid}, which rolled nothing back late`);
    const account = accountOf(owner);
    if (due.paid) return replay({ amount: text(due.stake) });
    const { available, held } = account;
    return first({ amount: text(due.stake), ...figures({ available: available + due.stake, held }) }, () => {
      due.paid = true;
      account.available += due.stake;
      add(house, owner.currency, -due.stake);
    });
  }

  function open(operation: Extract<Operation, { op: 'open' }>): Decided {
    const { userId, gameCode, currency, lockAmount, transactionUuid, chosen } = operation;
    const { sessionId, openedAt } = chosen;
    if (!known.users.includes(userId)) throw new Refusal('users/not_found');
    if (!known.currencies.includes(currency)) throw new Refusal('ledger/unknown_currency');
    const openRequest = openRequestOf(operation);
    const seen = sessions.get(sessionId);
    if (seen) {
      // The id follows from the uuid, so only a uuid can lead to a session that is there already.
      if (transactionUuid === undefined) throw new Error('not taught: two sessions of one id');
      const field = firstDifference(seen.openRequest, openRequest);
      if (field) throw new Refusal('ledger/transaction_conflict', { transactionUuid, field });
      return replay(seen.openBody);
    }
    const holding = hold(operation);
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
      if (isByStep && holding.take) throw new Error('not taught: a session that nothing is held for');
      holding.take?.();
      sessions.set(sessionId, {
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

  function bet({ sessionId, transactionUuid, amount, roundId }: Extract<Operation, { op: 'bet' }>): Decided {
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
    const balance = session.balance - stake;
    const body = { sessionId, transactionUuid, amount, balance: text(balance), status: 'accepted' };
    return keep(session, transactionUuid, request, body, () => {
      session.balance = balance;
      session.bets.set(transactionUuid, { stake, won: false, rolledBack: false });
    });
  }

  function win(operation: Extract<Operation, { op: 'win' }>): Decided {
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

  function rollback(operation: Extract<Operation, { op: 'rollback' }>): Decided {
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
    const body = (amount: bigint, balance: bigint, status: string) => ({
      sessionId,
      transactionUuid,
      betTransactionUuid,
      amount: text(amount),
      balance: text(balance),
      status,
    });
    // Both keep nothing.
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
      // A stake of nothing leaves nothing to be paid.
      if (!isLate || stake === 0n) return;
      session.late.set(transactionUuid, { stake, paid: false });
      if (!isByStep) takeAll(creditRollback({ op: 'creditRollback', sessionId, transactionUuid }));
    });
  }

  function settle({ sessionId, transactionUuid, chosen }: Extract<Operation, { op: 'settle' }>): Decided {
    const session = sessionOf(sessionId);
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
      if (!isByStep) takeAll(closeHold({ op: 'closeHold', ...owner, sessionId }));
    };
    if (transactionUuid === undefined) return first(settledBody, take);
    return keep(session, transactionUuid, request, settledBody, take);
  }

  function balance(sessionId: string): Decided {
    const session = sessionOf(sessionId);
    return first({
      sessionId,
      ...session.owner,
      balance: text(session.balance),
      status: session.settledBody ? 'settled' : 'open',
    });
  }

  function decide(operation: Operation | Step): Decided {
    switch (operation.op) {
      case 'credit':
      case 'debit':
        return adjust(operation);
      case 'figures':
        return first(figures(accountOf(operation)));
      case 'hold':
        return hold(operation);
      case 'closeHold':
        return closeHold(operation);
      case 'creditRollback':
        return creditRollback(operation);
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

  const decided = (operation: Operation | Step): Decided => {
    try {
      return decide(operation);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { answer: { accepted: false, code: error.code, details: error.details } };
    }
  };

  return {
    apply(operation) {
      const { answer, take } = decided(operation);
      take?.();
      return answer;
    },
    ask(operation) {
      const { answer, take } = decided(operation);
      return { answer, acts: take !== undefined };
    },
    books(currency) {
      const own = [...accounts.values()].filter(({ owner }) => owner.currency === currency);
      return {
        available: own.reduce((sum, { available }) => sum + available, 0n),
        held: own.reduce((sum, { held }) => sum + held, 0n),
        house: house.get(currency) ?? 0n,
        adjustments: adjustments.get(currency) ?? 0n,
      };
    },
    contents: () => ({
      accounts: [...accounts.values()]
        // One that was only asked about is not there.
        .filter(({ entries, holds }) => entries.size + holds.size > 0)
        .map(({ owner, available, held, holds }) => ({
          ...owner,
          available,
          held,
          holds: [...holds].map(([sessionId, { amount, payout }]) => ({ sessionId, amount, payout })),
        })),
      sessions: [...sessions].map(([sessionId, session]) => ({
        sessionId,
        ...session.owner,
        ...session.terms,
        lockAmount: session.lockAmount,
        balance: session.balance,
        totalBet: session.settled?.totalBet ?? stakesOf(session),
        totalWin: session.totalWin,
        lateRolledBack: [...session.late.values()].reduce((sum, { stake }) => sum + stake, 0n),
        settledAt: session.settled?.settledAt,
      })),
    }),
    owed: () => [
      ...[...accounts.values()].flatMap(({ owner, holds }) =>
        [...holds]
          .filter(([sessionId, { payout }]) => payout === undefined && !isInPlay(sessionId, owner))
          .map(([sessionId]) => ({ sessionId, ...owner })),
      ),
      ...[...sessions].flatMap(([sessionId, { owner, late }]) =>
        [...late]
          .filter(([, { paid }]) => !paid)
          .map(([transactionUuid]) => ({ sessionId, ...owner, transactionUuid })),
      ),
    ],
  };
}
