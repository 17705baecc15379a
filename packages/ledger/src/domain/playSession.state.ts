/** What a play session remembers of its events: enough to decide, and to answer every repeat as before. */
import assert from 'node:assert/strict';
import { Map as PersistentMap, Set as PersistentSet } from 'immutable';
import type { PlaySessionEvent, PlaySessionFact } from './playSession.events.ts';

/** What the session was opened with. */
export type SessionTerms = PlaySessionFact<'SessionOpened'>;

/** Where the stake of a late rollback goes, and where the funds of a session came from. */
export interface AccountOwner {
  readonly userId: string;
  readonly currencyId: number;
}

/** A write that was kept, under its `transactionUuid`. `revision` is that of its event. */
export type Transaction = Bet | Win | Rollback | RememberedRollback | Settling;

/** What the event says. */
type Kept<Fact> = Fact & { readonly revision: number };

export interface Bet extends Kept<PlaySessionFact<'BetPlaced'>> {
  readonly kind: 'bet';
  readonly fate: 'open' | 'won' | 'rolledBack';
}

export interface Win extends Kept<PlaySessionFact<'WinCredited'>> {
  readonly kind: 'win';
}

export interface Rollback extends Kept<PlaySessionFact<'BetRolledBack'>> {
  readonly kind: 'rollback';
}

export interface RememberedRollback extends Kept<PlaySessionFact<'RollbackRemembered'>> {
  readonly kind: 'rememberedRollback';
}

export interface Settling {
  readonly kind: 'settle';
  readonly transactionUuid: string;
  readonly revision: number;
}

/** What the event says of the money; `net` is the player's result, negative when the house won. */
export type Settlement = Pick<
  PlaySessionFact<'SessionSettled'>,
  'totalBet' | 'totalWin' | 'payout' | 'net' | 'settledAt'
> & { readonly revision: number };

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

export const initialState: PlaySession = { status: 'unknown', revision: -1 };

export function ownerOf({ userId, currencyId }: SessionTerms): AccountOwner {
  return { userId, currencyId };
}

export function evolve(session: PlaySession, event: PlaySessionEvent): PlaySession {
  if (event.type === 'SessionOpened') {
    assert.equal(session.status, 'unknown');
    return {
      status: 'open',
      revision: 0,
      terms: event.data,
      balance: event.data.lockAmount,
      totalBet: 0n,
      totalWin: 0n,
      transactions: PersistentMap(),
      rememberedBets: PersistentSet(),
    };
  }
  assert(session.status !== 'unknown', `${event.type} before SessionOpened`);
  const { transactionUuid: uuid } = event.data;
  assert(uuid === undefined || !session.transactions.has(uuid), 'a transactionUuid is used once');
  const revision = session.revision + 1;
  switch (event.type) {
    case 'BetPlaced': {
      const { transactionUuid, amount, balance } = event.data;
      assertOpen(session);
      assert(balance === session.balance - amount);
      return {
        ...session,
        revision,
        balance,
        totalBet: session.totalBet + amount,
        transactions: session.transactions.set(transactionUuid, {
          ...event.data,
          kind: 'bet',
          revision,
          fate: 'open',
        }),
      };
    }
    case 'WinCredited': {
      const { transactionUuid, betTransactionUuid, amount, balance } = event.data;
      assertOpen(session);
      assert(balance === session.balance + amount);
      return {
        ...session,
        revision,
        balance,
        totalWin: session.totalWin + amount,
        transactions: withFate(session, betTransactionUuid, 'won').set(transactionUuid, {
          ...event.data,
          kind: 'win',
          revision,
        }),
      };
    }
    case 'BetRolledBack': {
      const { transactionUuid, betTransactionUuid, amount, balance } = event.data;
      const late = event.data.late !== undefined;
      assert(late === (session.status === 'settled'));
      if (event.data.late) assertTerms(session, event.data.late);
      const bet = session.transactions.get(betTransactionUuid);
      assert(bet?.kind === 'bet' && bet.amount === amount, 'the whole stake is given back');
      assert(balance === (late ? session.balance : session.balance + amount));
      return {
        ...session,
        revision,
        balance,
        totalBet: late ? session.totalBet : session.totalBet - amount,
        transactions: withFate(session, betTransactionUuid, 'rolledBack').set(transactionUuid, {
          ...event.data,
          kind: 'rollback',
          revision,
        }),
      };
    }
    case 'RollbackRemembered': {
      const { transactionUuid, betTransactionUuid, balance } = event.data;
      assert(balance === session.balance);
      return {
        ...session,
        revision,
        transactions: session.transactions.set(transactionUuid, {
          ...event.data,
          kind: 'rememberedRollback',
          revision,
        }),
        rememberedBets: session.rememberedBets.add(betTransactionUuid),
      };
    }
    case 'SessionSettled': {
      const { transactionUuid, lockAmount, totalBet, totalWin, payout, net, settledAt } = event.data;
      assertOpen(session);
      assertTerms(session, event.data);
      assert(lockAmount === session.terms.lockAmount);
      assert(
        totalBet === session.totalBet && totalWin === session.totalWin,
        'a session settles its own sums',
      );
      assert(payout === session.balance);
      assert(net === payout - lockAmount);
      return {
        ...session,
        status: 'settled',
        revision,
        settlement: { totalBet, totalWin, payout, net, settledAt, revision },
        transactions:
          transactionUuid === undefined
            ? session.transactions
            : session.transactions.set(transactionUuid, { kind: 'settle', transactionUuid, revision }),
      };
    }
    default:
      throw new assert.AssertionError({ message: 'no such event', actual: event satisfies never });
  }
}

function assertOpen(session: KnownSession): asserts session is OpenSession {
  assert(session.status === 'open', 'the session is settled');
}

/** What is paid goes to the account that the session was opened on. */
function assertTerms(
  { terms }: KnownSession,
  told: { readonly userId: string; readonly currencyId: number },
): void {
  assert(told.userId === terms.userId && told.currencyId === terms.currencyId, 'whose session it is');
}

function withFate(
  { transactions }: KnownSession,
  betTransactionUuid: string,
  fate: Bet['fate'],
): PersistentMap<string, Transaction> {
  const bet = transactions.get(betTransactionUuid);
  assert(bet?.kind === 'bet', `${betTransactionUuid} is no bet`);
  return bet.fate === fate ? transactions : transactions.set(betTransactionUuid, { ...bet, fate });
}
