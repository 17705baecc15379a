/**
 * A play session: funds locked for one game, bets and wins against their balance, settled once.
 * Source: contract, Ledger: the table of edge cases and the order of state checks.
 */
import assert from 'node:assert/strict';
import { type Decision, type Environment, type StreamType, streamName } from '@coffer/kernel';
import { reject } from '../errors.ts';
import {
  betAnswer,
  openedAnswer,
  type PlaySessionAnswer,
  rolledBackAnswer,
  settledAnswer,
  unmovedAnswer,
  winAnswer,
} from './playSession.answers.ts';
import { type PlaySessionEvent, playSessionEvents } from './playSession.events.ts';
import {
  type BetContent,
  betCompared,
  type OpenRequest,
  openCompared,
  type RollbackContent,
  rollbackCompared,
  type WinContent,
  winCompared,
} from './playSession.resource.ts';
import { decodePlaySession, encodePlaySession, outlineOf, sessionIn } from './playSession.snapshot.ts';
import {
  evolve,
  initialState,
  isLate,
  type KnownSession,
  ownerOf,
  type PlaySession,
  revisionOf,
  type SessionTerms,
} from './playSession.state.ts';
import {
  bytesOfWrites,
  comparerOf,
  type IsSame,
  isRemembered,
  isWhole,
  type Write,
  writeUnder,
} from './sessionWrites.ts';

export type { PlaySessionAnswer } from './playSession.answers.ts';
export type { PlaySession } from './playSession.state.ts';

// Stream

const CATEGORY = 'playSession';

export function playSessionStream(environment: Environment, appId: string, sessionId: string): string {
  return streamName(CATEGORY, environment, appId, sessionId);
}

// Commands

export type PlaySessionCommand =
  | ({ readonly type: 'OpenSession' } & SessionTerms)
  | ({ readonly type: 'PlaceBet' } & BetContent)
  | ({ readonly type: 'CreditWin' } & WinContent)
  | ({ readonly type: 'RollBackBet' } & RollbackContent)
  | {
      readonly type: 'SettleSession';
      readonly transactionUuid?: string | undefined;
      /** ISO 8601 UTC with milliseconds. */
      readonly at: string;
    };

/** Bets, wins and rollbacks that a session records before it accepts no more bets. */
export const MAX_SESSION_WRITES = 100_000;

// Decide

type PlaySessionDecision = Decision<PlaySessionEvent, PlaySessionAnswer>;
type CommandOf<Type extends PlaySessionCommand['type']> = Extract<PlaySessionCommand, { type: Type }>;

function decide(session: PlaySession, command: PlaySessionCommand): PlaySessionDecision {
  if (command.type === 'OpenSession') return openSession(session, command);
  if (session.status === 'unknown') throw reject('ledger/session_not_found');
  switch (command.type) {
    case 'PlaceBet':
      return placeBet(session, command);
    case 'CreditWin':
      return creditWin(session, command);
    case 'RollBackBet':
      return rollBackBet(session, command);
    case 'SettleSession':
      return settleSession(session, command);
    default:
      throw new assert.AssertionError({ message: 'no such command', actual: command satisfies never });
  }
}

function openSession(session: PlaySession, command: CommandOf<'OpenSession'>): PlaySessionDecision {
  const { type: _, transactionUuid, ...rest } = command;
  // An absent field stays absent: stored facts have no empty ones.
  const terms: SessionTerms = { ...rest, ...(transactionUuid === undefined ? {} : { transactionUuid }) };
  if (session.status !== 'unknown') {
    const field = openDifference(session.terms, terms);
    return field
      ? { events: [], answer: { outcome: 'lost', field, owner: ownerOf(session.terms) } }
      : { events: [], answer: openedAnswer(session.terms), replayed: true };
  }

  return { events: [{ type: 'SessionOpened', data: terms }], answer: openedAnswer(terms) };
}

/**
 * The first field in which a request to open differs from what the session was opened with. The time is not compared: a
 * repeat comes later.
 */
export function openDifference(opened: SessionTerms, request: OpenRequest): string | undefined {
  return openCompared.find((field) => opened[field] !== request[field]);
}

function placeBet(session: KnownSession, { type: _, ...bet }: CommandOf<'PlaceBet'>): PlaySessionDecision {
  const { transactionUuid, amount } = bet;
  const { balance, writes } = session;
  const seen = writeUnder(writes, transactionUuid);
  if (seen) {
    if (seen.kind !== 'bet') throw conflict(transactionUuid, 'operation');
    requireSame(betCompared, comparerOf(writes, seen), bet);
    // Its stake was given back: to answer "accepted" again would start an unpaid round.
    if (seen.fate === 'rolledBack') throw reject('ledger/bet_rolled_back', { balance });
    return {
      events: [],
      answer: betAnswer(session, bet, seen.balance),
      replayed: true,
      // Another process may have rolled it back in the meantime.
      revocable: true,
    };
  }
  if (isRemembered(writes, transactionUuid)) throw reject('ledger/bet_rolled_back', { balance });
  if (session.status === 'settled') throw reject('ledger/session_settled');
  if (writes.size >= MAX_SESSION_WRITES) throw reject('ledger/session_full');
  if (amount > balance) throw reject('ledger/insufficient_balance', { balance, amount });

  const after = balance - amount;
  return {
    events: [{ type: 'BetPlaced', data: { ...bet, balance: after } }],
    answer: betAnswer(session, bet, after),
  };
}

function creditWin(session: KnownSession, { type: _, ...win }: CommandOf<'CreditWin'>): PlaySessionDecision {
  const { transactionUuid, betTransactionUuid, amount } = win;
  assert.notEqual(transactionUuid, betTransactionUuid);
  const { balance, writes } = session;
  const seen = writeUnder(writes, transactionUuid);
  if (seen) {
    if (seen.kind !== 'win') throw conflict(transactionUuid, 'operation');
    requireSame(winCompared, comparerOf(writes, seen), win);
    return { events: [], answer: winAnswer(session, win, seen.balance), replayed: true };
  }
  const bet = betNamed(session, betTransactionUuid);
  if (bet?.fate === 'rolledBack' || isRemembered(writes, betTransactionUuid)) {
    throw reject('ledger/bet_rolled_back', { balance });
  }
  if (session.status === 'settled') throw reject('ledger/session_settled');
  if (!bet) throw reject('ledger/bet_not_found');

  const after = balance + amount;
  return {
    events: [{ type: 'WinCredited', data: { ...win, balance: after } }],
    answer: winAnswer(session, win, after),
  };
}

function rollBackBet(session: KnownSession, command: CommandOf<'RollBackBet'>): PlaySessionDecision {
  const { transactionUuid, betTransactionUuid } = command;
  assert.notEqual(transactionUuid, betTransactionUuid);
  const { balance, writes } = session;
  const seen = writeUnder(writes, transactionUuid);
  if (seen) {
    if (seen.kind !== 'rollback' && seen.kind !== 'rememberedRollback') {
      throw conflict(transactionUuid, 'operation');
    }
    requireSame(rollbackCompared, comparerOf(writes, seen), command);
    const answer =
      seen.kind === 'rollback'
        ? rolledBackAnswer(session, command, {
            ...seen,
            late: isLate(session, seen) ? ownerOf(session.terms) : undefined,
            revision: revisionOf(session, seen),
          })
        : unmovedAnswer(session, command, 'remembered', seen.balance);
    return { events: [], answer, replayed: true };
  }
  const bet = betNamed(session, betTransactionUuid);
  // Both record nothing, so that a retry loop that keeps sending new uuids ends without growing the stream.
  if (bet?.fate === 'rolledBack') {
    return { events: [], answer: unmovedAnswer(session, command, 'already_rolled_back', balance) };
  }
  if (isRemembered(writes, betTransactionUuid)) {
    return { events: [], answer: unmovedAnswer(session, command, 'remembered', balance) };
  }
  if (bet?.fate === 'won') throw reject('ledger/bet_already_won');

  if (!bet) {
    return {
      events: [{ type: 'RollbackRemembered', data: { transactionUuid, betTransactionUuid, balance } }],
      answer: unmovedAnswer(session, command, 'remembered', balance),
    };
  }
  const { amount } = bet;
  const late = session.status === 'settled' ? ownerOf(session.terms) : undefined;
  const after = late ? balance : balance + amount;
  return {
    events: [
      {
        type: 'BetRolledBack',
        data: {
          transactionUuid,
          betTransactionUuid,
          amount,
          balance: after,
          ...(late ? { late } : {}),
        },
      },
    ],
    answer: rolledBackAnswer(session, command, {
      amount,
      balance: after,
      late,
      revision: session.revision + 1,
    }),
  };
}

function settleSession(session: KnownSession, command: CommandOf<'SettleSession'>): PlaySessionDecision {
  const { transactionUuid, at } = command;
  const seen = transactionUuid === undefined ? undefined : writeUnder(session.writes, transactionUuid);
  if (transactionUuid !== undefined && seen && seen.kind !== 'settle') {
    throw conflict(transactionUuid, 'operation');
  }
  if (session.status === 'settled') {
    // Under its own uuid it repeats this settlement only while no other write has taken that uuid.
    const revocable = transactionUuid !== undefined && !seen;
    return { events: [], answer: settledAnswer(session), replayed: true, revocable };
  }

  const { terms, totalBet, totalWin, balance: payout } = session;
  const { userId, currency, currencyId, lockAmount } = terms;
  const figures = { totalBet, totalWin, payout, net: payout - lockAmount, settledAt: at };
  return {
    events: [
      {
        type: 'SessionSettled',
        data: {
          ...(transactionUuid === undefined ? {} : { transactionUuid }),
          userId,
          currency,
          currencyId,
          lockAmount,
          ...figures,
        },
      },
    ],
    answer: settledAnswer({ terms, settlement: { ...figures, revision: session.revision + 1 } }),
  };
}

/** The bet with this uuid; undefined if nothing is known under it. */
function betNamed({ writes }: KnownSession, betTransactionUuid: string): Write | undefined {
  const named = writeUnder(writes, betTransactionUuid);
  if (named && named.kind !== 'bet') throw reject('ledger/not_a_bet');
  return named;
}

/** Throws the conflict that names the first field in which a request differs from what was recorded. */
function requireSame<Field extends keyof IsSame>(
  fields: readonly Field[],
  isSame: IsSame,
  request: { readonly [Name in Field]?: unknown } & { readonly transactionUuid: string },
): void {
  // Each comparison takes what its field holds: the name is the same on both sides.
  const field = fields.find((name) => !isSame[name](request[name] as never));
  if (field !== undefined) throw conflict(request.transactionUuid, field);
}

function conflict(transactionUuid: string, field: string): Error {
  return reject('ledger/transaction_conflict', { transactionUuid, field });
}

// Stream type

function sizeOf(session: PlaySession): number {
  return session.status === 'unknown' ? 100 : BYTES_OF_FACTS + bytesOfWrites(session.writes);
}

/** Of a session without its writes, with its place in the cache; measured. */
const BYTES_OF_FACTS = 2_000;

export const playSession: StreamType<PlaySessionCommand, PlaySessionEvent, PlaySession, PlaySessionAnswer> = {
  category: CATEGORY,
  version: 8,
  codec: playSessionEvents,
  initialState,
  decide,
  evolve,
  crossesThreads: true,
  sizeOf,
  isEnded: ({ status }) => status === 'settled',
  snapshot: { encode: encodePlaySession, decode: decodePlaySession },
  outlines: {
    of: outlineOf,
    restore: sessionIn,
    isWhole: (session) => session.status === 'unknown' || isWhole(session.writes),
  },
};
