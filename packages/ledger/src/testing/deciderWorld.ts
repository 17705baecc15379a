/**
 * The deciders of accounts and play sessions over streams in memory, driven by the same operations as the model.
 * Reserves, acts and closes as the service does, with nothing in between that could fail.
 */
import assert from 'node:assert/strict';
import {
  type Account,
  type AccountAnswer,
  type AccountCommand,
  account,
  accountEvents,
  accountStreamOf,
  adjustmentEntryId,
  postingsOf,
  rollbackEntryId,
  sessionHoldId,
} from '@coffer/accounts';
import type { StreamEvent } from '@coffer/event-store';
import { encodeMetadata, fold, Rejection, type StreamType } from '@coffer/kernel';
import { answerBody, balanceBody, type PlaySessionAnswer } from '../domain/playSession.answers.ts';
import type { PlaySession } from '../domain/playSession.state.ts';
import {
  openDifference,
  type PlaySessionCommand,
  playSession,
  playSessionStream,
} from '../domain/playSession.ts';
import { type Asked, type Attempt, receivedOf } from './attempts.ts';
import type { Answer, Books } from './operations.ts';
import { CURRENCIES, PLACE, sessionIdOf, USERS } from './smallCasino.ts';

/**
 * Where the state for the next command comes from: kept from the last one, as within one append of several commands;
 * folded again from what is stored; or restored from a snapshot.
 */
export type StateSource = 'kept' | 'refolded' | 'snapshot';

export interface DeciderWorld {
  ask(asked: Asked): Answer;
  /** From the postings of every event. */
  books(currency: string): Books;
  /** From the folded accounts. */
  figures(currency: string): Pick<Books, 'available' | 'held'>;
  /** Every balance, of accounts and sessions. */
  balances(): readonly bigint[];
  /** Every event in its form on disk. */
  stored(): readonly string[];
  /** Everything that was requested and answered. */
  readonly attempts: readonly Attempt[];
  readonly events: readonly StreamEvent[];
}

interface Streams<State> {
  readonly states: Map<string, State>;
  readonly events: Map<string, StreamEvent[]>;
}

export function createDeciderWorld(source: StateSource): DeciderWorld {
  const accounts: Streams<Account> = { states: new Map(), events: new Map() };
  const sessions: Streams<PlaySession> = { states: new Map(), events: new Map() };
  const log: StreamEvent[] = [];
  const attempts: Attempt[] = [];

  function execute<Command, Event, State, Result>(
    type: StreamType<Command, Event, State, Result>,
    streams: Streams<State>,
    stream: string,
    command: Command,
  ): { readonly answer: Result; readonly replayed: boolean } {
    const before = stateOf(type, streams, stream);
    const { events, answer, replayed = false } = type.decide(before, command);
    streams.states.set(stream, events.reduce(type.evolve, before));
    const own = streams.events.get(stream) ?? [];
    streams.events.set(stream, own);
    for (const event of events) {
      const { schemaVersion, ...encoded } = type.codec.encode(event);
      const metadata = encodeMetadata({ correlationId: idOfTheNext(), ...METADATA }, schemaVersion);
      const stored = { ...encoded, id: `event-${log.length}`, stream, revision: own.length, metadata };
      own.push(stored);
      log.push(stored);
    }
    return { answer, replayed };
  }

  function stateOf<Command, Event, State, Result>(
    type: StreamType<Command, Event, State, Result>,
    { states, events }: Streams<State>,
    stream: string,
  ): State {
    const kept = states.get(stream) ?? type.initialState;
    if (source === 'kept') return kept;
    if (source === 'refolded') return fold(type, type.initialState, events.get(stream) ?? []);
    assert(type.snapshot);
    return type.snapshot.decode(structuredClone(type.snapshot.encode(kept)));
  }

  const inAccount = (owner: Owner, command: AccountCommand): { answer: AccountAnswer; replayed: boolean } =>
    execute(account, accounts, streamOf(owner), command);
  const inSession = (sessionId: string, command: PlaySessionCommand) =>
    execute(playSession, sessions, sessionStreamOf(sessionId), command);
  const idOfTheNext = () => `request-${attempts.length}`;

  function adjust(operation: Extract<Asked, { op: 'credit' | 'debit' }>): Answer {
    const { op, ref, amount, reason } = operation;
    const { answer, replayed } = inAccount(operation, {
      type: op === 'credit' ? 'CreditAccount' : 'DebitAccount',
      entryId: adjustmentEntryId(ref),
      amount: BigInt(amount),
      reason: 'adjustment',
      note: reason,
    });
    assert(answer.outcome === 'booked');
    return accepted({ available: `${answer.available}`, held: `${answer.held}` }, replayed);
  }

  function open(operation: Extract<Asked, { op: 'open' }>): Answer {
    const { userId, gameCode, currency, transactionUuid = '' } = operation;
    const sessionId = sessionIdOf(transactionUuid);
    const lockAmount = BigInt(operation.lockAmount);
    assert(USERS.some((each) => each === userId));
    const currencyId = CURRENCIES.find(({ code }) => code === currency)?.id;
    if (currencyId === undefined) throw new Rejection('ledger/unknown_currency');
    const request = { userId, gameCode, currency, lockAmount, transactionUuid };
    const session = stateOf(playSession, sessions, sessionStreamOf(sessionId));
    if (session.status === 'unknown') {
      const { answer } = inAccount(operation, {
        type: 'HoldFunds',
        holdId: sessionHoldId(sessionId),
        amount: lockAmount,
        purpose: 'session',
        request: { sessionId, gameCode, currency, transactionUuid, openedAt: OPENED_AT },
      });
      if (answer.outcome === 'insufficient') {
        throw new Rejection('ledger/insufficient_funds', { available: answer.available, amount: lockAmount });
      }
      assert(answer.outcome === 'held');
    } else {
      const field = openDifference(session.terms, request);
      if (field) throw new Rejection('ledger/transaction_conflict', { transactionUuid, field });
    }
    const chosen = { sessionId, openedAt: OPENED_AT };
    return rendered(inSession(sessionId, { type: 'OpenSession', ...request, currencyId, ...chosen }));
  }

  function settle(operation: Extract<Asked, { op: 'settle' }>): Answer {
    const { sessionId, transactionUuid } = operation;
    const outcome = inSession(sessionId, { type: 'SettleSession', transactionUuid, at: SETTLED_AT });
    assert(outcome.answer.outcome === 'settled');
    const { payout } = outcome.answer;
    inAccount(ownerOf(outcome.answer), { type: 'CloseHold', holdId: sessionHoldId(sessionId), payout });
    return rendered(outcome);
  }

  function rollback(operation: Extract<Asked, { op: 'rollback' }>): Answer {
    const { op: _, sessionId, ...write } = operation;
    const outcome = inSession(sessionId, { type: 'RollBackBet', ...write });
    assert(outcome.answer.outcome === 'rollback');
    const { late, amount } = outcome.answer;
    if (late) {
      const entryId = rollbackEntryId(sessionId, write.transactionUuid);
      inAccount(ownerOf(late), { type: 'CreditAccount', entryId, amount, reason: 'rollback' });
    }
    return rendered(outcome);
  }

  function answer(operation: Asked): Answer {
    switch (operation.op) {
      case 'credit':
      case 'debit':
        return adjust(operation);
      case 'figures': {
        const { available, held } = stateOf(account, accounts, streamOf(operation));
        return accepted({ available: `${available}`, held: `${held}` }, false);
      }
      case 'open':
        return open(operation);
      case 'bet': {
        const { op: _, sessionId, amount, ...write } = operation;
        return rendered(inSession(sessionId, { type: 'PlaceBet', ...write, amount: BigInt(amount) }));
      }
      case 'win': {
        const { op: _, sessionId, amount, ...write } = operation;
        return rendered(inSession(sessionId, { type: 'CreditWin', ...write, amount: BigInt(amount) }));
      }
      case 'rollback':
        return rollback(operation);
      case 'balance': {
        const session = stateOf(playSession, sessions, sessionStreamOf(operation.sessionId));
        if (session.status === 'unknown') throw new Rejection('ledger/session_not_found');
        return accepted(balanceBody(session), false);
      }
      case 'settle':
        return settle(operation);
      default:
        throw new Error(`not taught: ${operation.op} is played with the whole service`);
    }
  }

  function answered(operation: Asked): Answer {
    try {
      return answer(operation);
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      return { accepted: false, code: error.code, details: JSON.parse(wireText(error.details)) };
    }
  }

  const isIn = (currency: string) => (stream: string) => stream.endsWith(`.${currencyIdOf(currency)}`);
  const accountsIn = (currency: string) =>
    [...accounts.states].filter(([stream]) => isIn(currency)(stream)).map(([, state]) => state);

  return {
    attempts,
    events: log,
    ask(operation) {
      const result = answered(operation);
      const ticks = 2 * attempts.length;
      attempts.push({
        id: idOfTheNext(),
        place: PLACE,
        call: { kind: 'single', operation },
        sentAt: ticks,
        received: { ...receivedOf(result, operation.op), at: ticks + 1 },
      });
      return result;
    },
    books(currency) {
      const books = { available: 0n, held: 0n, pools: 0n, referrals: 0n, house: 0n, adjustments: 0n };
      for (const [stream, events] of accounts.events) {
        if (!isIn(currency)(stream)) continue;
        for (const stored of events) {
          for (const posting of postingsOf(accountEvents.decode(stored))) {
            assert(posting.account in books, `nothing here is booked on ${posting.account}`);
            books[posting.account as keyof typeof books] += posting.amount;
          }
        }
      }
      // What is credited to the player is debited to the operator; the contract counts what was put in.
      return { ...books, adjustments: -books.adjustments };
    },
    figures: (currency) => ({
      available: accountsIn(currency).reduce((sum, { available }) => sum + available, 0n),
      held: accountsIn(currency).reduce((sum, { held }) => sum + held, 0n),
    }),
    balances: () => [
      ...[...accounts.states.values()].flatMap(({ available, held }) => [available, held]),
      ...[...sessions.states.values()].flatMap((session) =>
        session.status === 'unknown' ? [] : [session.balance, session.totalBet, session.totalWin],
      ),
    ],
    stored: () => log.map(({ stream, type, data }) => `${stream} ${type} ${data}`),
  };
}

interface Owner {
  readonly userId: string;
  readonly currency: string;
}

const OPENED_AT = '2026-01-31T12:00:00.000Z';
const SETTLED_AT = '2026-01-31T13:00:00.000Z';
const METADATA = { actor: 'operator', occurredAt: OPENED_AT };

const currencyIdOf = (currency: string) =>
  CURRENCIES.find(({ code }) => code === currency)?.id ?? assert.fail(`${currency} is unknown`);
const ownerOf = ({ userId, currencyId }: { readonly userId: string; readonly currencyId: number }) => ({
  userId,
  currency: CURRENCIES.find(({ id }) => id === currencyId)?.code ?? assert.fail('an unknown currency'),
});
const streamOf = ({ userId, currency }: Owner) =>
  accountStreamOf({ ...PLACE, userId, currencyId: currencyIdOf(currency) });
const sessionStreamOf = (sessionId: string) => playSessionStream(PLACE.environment, PLACE.appId, sessionId);

const accepted = (body: object, replayed: boolean): Answer => ({ accepted: true, body, replayed });

function rendered({ answer, replayed }: { answer: PlaySessionAnswer; replayed: boolean }): Answer {
  assert(answer.outcome !== 'lost');
  return accepted(answerBody(answer), replayed);
}

const wireText = (details: object) =>
  JSON.stringify(details, (_key, value) => (typeof value === 'bigint' ? value.toString() : value));
