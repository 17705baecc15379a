/**
 * The contract, executable: what the ledger answers to a sequence of operations, in plain maps. Written from the
 * contract (Common rules, Money model, Ledger) and not from the deciders, which are compared with it. An open, a
 * settlement and a late rollback move no money here: the steps that do are separate, as in the log. It throws on what
 * it does not know instead of guessing.
 */
import type { Answer, Books, Contents, Operation, Owed, Step } from '../operations.ts';
import { adjust, closeHold, creditRollback, figuresOf, hold } from './money.ts';
import { balance, bet, open, rollback, settle, win } from './play.ts';
import { closeStake, confirm, holdStake, lock, refundPool, settlePool } from './pools.ts';
import {
  accrue,
  attribute,
  chain,
  code,
  creditEarnings,
  distribute,
  earned,
  noReferrals,
  owedReferrals,
  payout,
  putBack,
  referralContents,
  referralsOwe,
  setAside,
  takeKey,
  withdraw,
} from './referrals.ts';
import { type Decided, type Known, type Ledger, type Owner, Refusal, stakesOf } from './state.ts';

export interface Model {
  /** Carries out the operation. */
  apply(operation: Operation | Step): Answer;
  /** What the operation would be answered now, and whether it would then change anything. Changes nothing. */
  ask(operation: Operation | Step): { readonly answer: Answer; readonly acts: boolean };
  books(currency: string): Books;
  contents(): Contents;
  /** What has been decided but has not reached the player's funds, or the session that it is held for. */
  owed(): readonly Owed[];
}

export function createModel(known: Known): Model {
  const ledger: Ledger = {
    known,
    accounts: new Map(),
    sessions: new Map(),
    pools: new Map(),
    inPools: new Map(),
    referrals: noReferrals(),
    house: new Map(),
    adjustments: new Map(),
  };
  return {
    apply(operation) {
      const { answer, take } = decide(ledger, operation);
      take?.();
      return answer;
    },
    ask(operation) {
      const { answer, take } = decide(ledger, operation);
      return { answer, acts: take !== undefined };
    },
    books: (currency) => booksOf(ledger, currency),
    contents: () => contentsOf(ledger),
    owed: () => owedIn(ledger),
  };
}

function decide(ledger: Ledger, operation: Operation | Step): Decided {
  try {
    return accept(ledger, operation);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { answer: { accepted: false, code: error.code, details: error.details } };
  }
}

/** Throws the refusal. */
function accept(ledger: Ledger, operation: Operation | Step): Decided {
  switch (operation.op) {
    case 'credit':
    case 'debit':
      return adjust(ledger, operation);
    case 'figures':
      return figuresOf(ledger, operation);
    case 'hold':
      return hold(ledger, operation);
    case 'closeHold':
      return closeHold(ledger, operation);
    case 'creditRollback':
      return creditRollback(ledger, operation);
    case 'open':
      return open(ledger, operation);
    case 'bet':
      return bet(ledger, operation);
    case 'win':
      return win(ledger, operation);
    case 'rollback':
      return rollback(ledger, operation);
    case 'balance':
      return balance(ledger, operation);
    case 'settle':
      return settle(ledger, operation);
    case 'lock':
      return lock(ledger, operation);
    case 'confirm':
      return confirm(ledger, operation);
    case 'settlePool':
      return settlePool(ledger, operation);
    case 'refundPool':
      return refundPool(ledger, operation);
    case 'holdStake':
      return holdStake(ledger, operation);
    case 'closeStake':
      return closeStake(ledger, operation);
    case 'code':
      return code(ledger, operation);
    case 'attribute':
      return attribute(ledger, operation);
    case 'chain':
      return chain(ledger, operation);
    case 'takeKey':
      return takeKey(ledger, operation);
    case 'payout':
      return payout(ledger, operation);
    case 'distribute':
      return distribute(ledger, operation);
    case 'accrue':
      return accrue(ledger, operation);
    case 'setAside':
      return setAside(ledger, operation);
    case 'putBack':
      return putBack(ledger, operation);
    case 'withdraw':
      return withdraw(ledger, operation);
    case 'creditEarnings':
      return creditEarnings(ledger, operation);
    case 'earned':
      return earned(ledger, operation);
  }
}

function booksOf(ledger: Ledger, currency: string): Books {
  const { accounts, inPools, house, adjustments } = ledger;
  const own = [...accounts.values()].filter(({ owner }) => owner.currency === currency);
  return {
    available: own.reduce((sum, { available }) => sum + available, 0n),
    held: own.reduce((sum, { held }) => sum + held, 0n),
    pools: inPools.get(currency) ?? 0n,
    referrals: referralsOwe(ledger, currency),
    house: house.get(currency) ?? 0n,
    adjustments: adjustments.get(currency) ?? 0n,
  };
}

const contentsOf = ({ accounts, sessions, pools, referrals }: Ledger): Contents => ({
  referrals: referralContents(referrals),
  accounts: [...accounts.values()]
    // An account that was only asked about does not exist.
    .filter(({ entries, holds }) => entries.size + holds.size > 0)
    .map(({ owner, available, held, holds, stakes }) => ({
      ...owner,
      available,
      held,
      holds: [...holds].map(([sessionId, { amount, payout }]) => ({ sessionId, amount, payout })),
      stakes: [...stakes].map(([stakeId, { amount, payout }]) => ({ stakeId, amount, payout })),
    })),
  pools: [...pools].map(([poolId, { currencyId, openedAt, stakes, end }]) => ({
    poolId,
    currencyId,
    status: end?.status ?? 'open',
    rake: end?.status === 'settled' ? end.rake : undefined,
    openedAt,
    stakes: [...stakes].map(([betId, { userId, amount, status, credit, confirmBy }]) => {
      return { betId, userId, amount, status, credit, confirmBy };
    }),
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
});

function owedIn(ledger: Ledger): readonly Owed[] {
  const { accounts, sessions, pools } = ledger;
  const isInPlay = (sessionId: string, { userId, currency }: Owner): boolean => {
    const session = sessions.get(sessionId);
    if (!session || session.settledBody) return false;
    return session.owner.userId === userId && session.owner.currency === currency;
  };
  const holds = [...accounts.values()].flatMap(({ owner, holds: own }) =>
    [...own]
      .filter(([sessionId, { payout }]) => payout === undefined && !isInPlay(sessionId, owner))
      .map(([sessionId]) => ({ sessionId, ...owner })),
  );
  const rollbacks = [...sessions].flatMap(([sessionId, { owner, late }]) =>
    [...late]
      .filter(([, { paid }]) => !paid)
      .map(([transactionUuid]) => ({ sessionId, ...owner, transactionUuid })),
  );
  const isInPool = (stakeId: string, { userId, currency }: Owner): boolean => {
    const [poolId = '', betId = ''] = stakeId.split('/');
    const pool = pools.get(poolId);
    if (!pool || pool.end || ledger.known.codes?.get(pool.currencyId) !== currency) return false;
    return pool.stakes.get(betId)?.userId === userId;
  };
  const stakes = [...accounts.values()].flatMap(({ owner, stakes: own }) =>
    [...own]
      .filter(([stakeId, { payout }]) => payout === undefined && !isInPool(stakeId, owner))
      .map(([stakeId]) => ({ sessionId: stakeId, ...owner })),
  );
  return [...holds, ...rollbacks, ...stakes, ...owedReferrals(ledger)];
}
