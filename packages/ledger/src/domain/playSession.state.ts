/** What a play session remembers from its events: enough to decide, and to repeat every answer. */
import assert from 'node:assert/strict';
import type { PlaySessionEvent, PlaySessionFact } from './playSession.events.ts';
import { noWrites, type SessionWrites, type Write, withWrite, writeAt, writeUnder } from './sessionWrites.ts';

/** What the session was opened with. */
export type SessionTerms = PlaySessionFact<'SessionOpened'>;

/** Where the stake of a late rollback goes, and where the session's funds came from. */
export interface AccountOwner {
  readonly userId: string;
  readonly currencyId: number;
}

/** The money in the event; `net` is the player's result, negative if the house won. */
type Settlement = Pick<
  PlaySessionFact<'SessionSettled'>,
  'totalBet' | 'totalWin' | 'payout' | 'net' | 'settledAt'
> & { readonly revision: number };

/** Nothing was ever written to the stream. */
interface UnknownSession {
  readonly status: 'unknown';
  readonly revision: -1;
}

interface KnownFacts {
  /** The revision of the last event folded. */
  readonly revision: number;
  readonly terms: SessionTerms;
  readonly balance: bigint;
  /** Accepted bets less those rolled back before the settlement. */
  readonly totalBet: bigint;
  readonly totalWin: bigint;
  readonly writes: SessionWrites;
}

interface OpenSession extends KnownFacts {
  readonly status: 'open';
}

/** The balance is the payout from here on. */
export interface SettledSession extends KnownFacts {
  readonly status: 'settled';
  readonly settlement: Settlement;
}

export type KnownSession = OpenSession | SettledSession;
/** Without its writes. */
export type SessionFacts = Omit<OpenSession, 'writes'> | Omit<SettledSession, 'writes'>;
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
      writes: noWrites(),
    };
  }
  assert(session.status !== 'unknown', `${event.type} before SessionOpened`);
  const revision = session.revision + 1;
  switch (event.type) {
    case 'BetPlaced': {
      const { amount, balance } = event.data;
      assertOpen(session);
      assert(balance === session.balance - amount);
      return {
        ...session,
        revision,
        balance,
        totalBet: session.totalBet + amount,
        writes: withWrite(session.writes, { ...event.data, kind: 'bet' }),
      };
    }
    case 'WinCredited': {
      const { amount, balance } = event.data;
      assertOpen(session);
      assert(balance === session.balance + amount);
      return {
        ...session,
        revision,
        balance,
        totalWin: session.totalWin + amount,
        writes: withWrite(session.writes, { ...event.data, kind: 'win' }),
      };
    }
    case 'BetRolledBack': {
      const { betTransactionUuid, amount, balance } = event.data;
      const late = event.data.late !== undefined;
      assert(late === (session.status === 'settled'));
      if (event.data.late) assertTerms(session, event.data.late);
      const bet = writeUnder(session.writes, betTransactionUuid);
      assert(bet?.kind === 'bet' && bet.amount === amount, 'the whole stake is given back');
      assert(balance === (late ? session.balance : session.balance + amount));
      return {
        ...session,
        revision,
        balance,
        totalBet: late ? session.totalBet : session.totalBet - amount,
        writes: withWrite(session.writes, { ...event.data, kind: 'rollback' }),
      };
    }
    case 'RollbackRemembered': {
      const { balance } = event.data;
      assert(balance === session.balance);
      return {
        ...session,
        revision,
        writes: withWrite(session.writes, { ...event.data, kind: 'rememberedRollback', amount: 0n }),
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
        writes:
          transactionUuid === undefined
            ? session.writes
            : withWrite(session.writes, { kind: 'settle', transactionUuid, amount: 0n, balance: payout }),
      };
    }
    default:
      throw new assert.AssertionError({ message: 'no such event', actual: event satisfies never });
  }
}

function assertOpen(session: KnownSession): asserts session is OpenSession {
  assert(session.status === 'open', 'the session is settled');
}

/** Payments go to the account that the session was opened on. */
function assertTerms(
  { terms }: KnownSession,
  told: { readonly userId: string; readonly currencyId: number },
): void {
  assert(told.userId === terms.userId && told.currencyId === terms.currencyId, 'whose session it is');
}

/** The revision of the event that recorded the write. */
export function revisionOf(session: KnownSession, { place }: Pick<Write, 'place'>): number {
  // The opening is the event before all writes.
  const revision = place + 1;
  if (session.status === 'open' || revision < session.settlement.revision) return revision;
  // A settlement without its own uuid is an event but not a write.
  const settling = writeAt(session.writes, session.settlement.revision - 1);
  return settling?.kind === 'settle' ? revision : revision + 1;
}

/** Whether the write came after the settlement. */
export const isLate = (session: KnownSession, write: Pick<Write, 'place'>): boolean =>
  session.status === 'settled' && revisionOf(session, write) > session.settlement.revision;
