/**
 * The deciders of accounts and play sessions over streams in memory, driven by the same operations as the model.
 * Reserve, act, close as the service does it, with nothing in between that could fail.
 */
import assert from 'node:assert/strict';
import {
  type Account,
  type AccountAnswer,
  type AccountCommand,
  type AccountEvent,
  account,
  adjustmentEntryId,
  postingsOf,
  rollbackEntryId,
  sessionHoldId,
} from '@coffer/accounts';
import { encodeMetadata, fold, Rejection, type StoredEvent, type StreamType } from '@coffer/kernel';
import {
  answerBody,
  balanceBody,
  openDifference,
  type PlaySession,
  type PlaySessionAnswer,
  type PlaySessionCommand,
  playSession,
} from '@coffer/ledger';
import type { Answer, Books, Operation } from '@coffer/ledger/model';

/**
 * Where the state of the next command comes from: kept from the last one, as within one append of several
 * commands; folded anew from what is stored; or brought back from a snapshot.
 */
export type StateSource = 'kept' | 'refolded' | 'snapshot';

export interface DeciderWorld {
  apply(operation: Operation): Answer;
  /** From the postings of every event. */
  books(currency: string): Books;
  /** From the folded accounts. */
  figures(currency: string): Pick<Books, 'available' | 'held'>;
  /** Every balance there is, of accounts and sessions. */
  balances(): readonly bigint[];
  /** Every event as it would be on disk. */
  stored(): readonly string[];
}

interface Streams<State> {
  readonly states: Map<string, State>;
  readonly events: Map<string, StoredEvent[]>;
}

export function createDeciderWorld(
  known: { readonly users: readonly string[]; readonly currencies: readonly string[] },
  source: StateSource,
): DeciderWorld {
  const accounts: Streams<Account> = { states: new Map(), events: new Map() };
  const sessions: Streams<PlaySession> = { states: new Map(), events: new Map() };
  const log: string[] = [];

  function execute<Command, Event, State, Result>(
    type: StreamType<Command, Event, State, Result>,
    streams: Streams<State>,
    stream: string,
    command: Command,
  ): { readonly answer: Result; readonly replayed: boolean } {
    const before = stateOf(type, streams, stream);
    const { events, answer, replayed = false } = type.decide(before, command);
    streams.states.set(stream, events.reduce(type.evolve, before));
    for (const event of events) {
      const { schemaVersion, ...encoded } = type.codec.encode(event);
      const stored = { ...encoded, metadata: encodeMetadata(metadata, schemaVersion) };
      streams.events.set(stream, [...(streams.events.get(stream) ?? []), stored]);
      log.push(`${stream} ${stored.type} ${stored.data}`);
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
    return type.snapshot.decode(JSON.parse(JSON.stringify(type.snapshot.encode(kept))));
  }

  const inAccount = (owner: Owner, command: AccountCommand): { answer: AccountAnswer; replayed: boolean } =>
    execute(account, accounts, `${owner.userId}.${owner.currency}`, command);
  const inSession = (sessionId: string, command: PlaySessionCommand) =>
    execute(playSession, sessions, sessionId, command);

  function adjust(operation: Extract<Operation, { op: 'credit' | 'debit' }>): Answer {
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

  function open(operation: Extract<Operation, { op: 'open' }>): Answer {
    const { userId, gameCode, currency, transactionUuid, chosen } = operation;
    const lockAmount = BigInt(operation.lockAmount);
    if (!known.users.includes(userId)) throw new Rejection('users/not_found');
    const currencyId = known.currencies.indexOf(currency);
    if (currencyId < 0) throw new Rejection('ledger/unknown_currency');
    const request = { userId, gameCode, currency, lockAmount, transactionUuid };
    const session = stateOf(playSession, sessions, chosen.sessionId);
    if (session.status === 'unknown') {
      const { answer } = inAccount(operation, {
        type: 'HoldFunds',
        holdId: sessionHoldId(chosen.sessionId),
        amount: lockAmount,
        purpose: 'session',
        request: { gameCode, openedAt: chosen.openedAt },
      });
      if (answer.outcome === 'insufficient') {
        throw new Rejection('ledger/insufficient_funds', { available: answer.available, amount: lockAmount });
      }
      assert(answer.outcome === 'held');
    } else {
      const field = openDifference(session.terms, request);
      if (field) throw new Rejection('ledger/transaction_conflict', { transactionUuid, field });
    }
    return rendered(inSession(chosen.sessionId, { type: 'OpenSession', ...request, currencyId, ...chosen }));
  }

  function settle(operation: Extract<Operation, { op: 'settle' }>): Answer {
    const { sessionId, transactionUuid, chosen } = operation;
    const outcome = inSession(sessionId, { type: 'SettleSession', transactionUuid, at: chosen.settledAt });
    assert(outcome.answer.outcome === 'settled');
    const { payout } = outcome.answer;
    inAccount(outcome.answer, { type: 'CloseHold', holdId: sessionHoldId(sessionId), payout });
    return rendered(outcome);
  }

  function rollback(operation: Extract<Operation, { op: 'rollback' }>): Answer {
    const { op: _, sessionId, ...write } = operation;
    const outcome = inSession(sessionId, { type: 'RollBackBet', ...write });
    assert(outcome.answer.outcome === 'rollback');
    const { late, amount } = outcome.answer;
    if (late) {
      const currency = known.currencies[late.currencyId] ?? assert.fail('an unknown currency');
      inAccount(
        { userId: late.userId, currency },
        {
          type: 'CreditAccount',
          entryId: rollbackEntryId(sessionId, write.transactionUuid),
          amount,
          reason: 'rollback',
        },
      );
    }
    return rendered(outcome);
  }

  function answer(operation: Operation): Answer {
    switch (operation.op) {
      case 'credit':
      case 'debit':
        return adjust(operation);
      case 'figures': {
        const { available, held } = stateOf(account, accounts, `${operation.userId}.${operation.currency}`);
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
        const session = stateOf(playSession, sessions, operation.sessionId);
        if (session.status === 'unknown') throw new Rejection('ledger/session_not_found');
        return accepted(balanceBody(session), false);
      }
      case 'settle':
        return settle(operation);
    }
  }

  const accountsIn = (currency: string) =>
    [...accounts.states].filter(([stream]) => stream.endsWith(`.${currency}`)).map(([, state]) => state);

  return {
    apply(operation) {
      try {
        return answer(operation);
      } catch (error) {
        if (!(error instanceof Rejection)) throw error;
        return { accepted: false, code: error.code, details: JSON.parse(wireText(error.details)) };
      }
    },
    books(currency) {
      const books = { available: 0n, held: 0n, house: 0n, adjustments: 0n };
      for (const [stream, events] of accounts.events) {
        if (!stream.endsWith(`.${currency}`)) continue;
        for (const stored of events) {
          for (const posting of postingsOf(decodeAccountEvent(stored))) {
            assert(posting.account in books, `nothing here is booked on ${posting.account}`);
            books[posting.account as keyof typeof books] += posting.amount;
          }
        }
      }
      // Credited to the player is debited to the operator, and the contract counts what was put in.
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
    stored: () => log,
  };
}

interface Owner {
  readonly userId: string;
  readonly currency: string;
}

const metadata = { correlationId: 'world', actor: 'operator', occurredAt: '2026-01-31T12:00:00.000Z' };

const decodeAccountEvent = (stored: StoredEvent): AccountEvent => account.codec.decode(stored);

const accepted = (body: object, replayed: boolean): Answer => ({ accepted: true, body, replayed });

function rendered({ answer, replayed }: { answer: PlaySessionAnswer; replayed: boolean }): Answer {
  assert(answer.outcome !== 'lost');
  return accepted(answerBody(answer), replayed);
}

const wireText = (details: object) =>
  JSON.stringify(details, (_key, value) => (typeof value === 'bigint' ? value.toString() : value));
