/** Whether answers that were given by several nodes at once are those of one log. */
import assert from 'node:assert/strict';
import { type Account, account, accountStreamOf, adjustmentEntryId } from '@coffer/accounts';
import type { RecordedEvent } from '@coffer/event-store';
import { fold, parseStreamName, Rejection, type StreamType } from '@coffer/kernel';
import {
  answerBody,
  balanceBody,
  openDifference,
  openedBody,
  type PlaySession,
  playSession,
  playSessionStream,
} from '@coffer/ledger';
import {
  type Answer,
  CURRENCY,
  figuresBody,
  type Request,
  refusalOf,
  sessionIdOf,
  type TwoNodes,
  writeCommandOf,
} from './twoNodes.ts';

/** An answer, and how long the log was when the request was sent and when it was answered. */
export interface Answered {
  readonly request: Request;
  readonly answer: Answer;
  readonly from: number;
  readonly to: number;
}

interface Reached<State> {
  /** The state stands from this length of the log on. */
  readonly since: number;
  readonly state: State;
}

/** Every state of every stream of a type. */
export function statesOf<Command, Event, State, Result>(
  type: StreamType<Command, Event, State, Result>,
  events: readonly RecordedEvent[],
): ReadonlyMap<string, readonly Reached<State>[]> {
  const reached = new Map<string, Reached<State>[]>();
  events.forEach((event, index) => {
    if (parseStreamName(event.stream)?.category !== type.category) return;
    const earlier = reached.get(event.stream) ?? [{ since: 0, state: type.initialState }];
    const { state } = earlier.at(-1) ?? assert.fail();
    reached.set(event.stream, [...earlier, { since: index + 1, state: fold(type, state, [event]) }]);
  });
  return reached;
}

/** Throws where an answer is not what the rules say of any state that the log had while it was asked for. */
export function explanations({ log, place }: TwoNodes) {
  const accounts = statesOf(account, log.events);
  const sessions = statesOf(playSession, log.events);
  const meanwhile = <State>(
    reached: readonly Reached<State>[] | undefined,
    initial: State,
    { from, to }: Answered,
  ): readonly State[] => {
    const all = reached ?? [{ since: 0, state: initial }];
    const first = all.findLastIndex(({ since }) => since <= from);
    return all.filter(({ since }, index) => index >= first && since <= to).map(({ state }) => state);
  };
  const accountsMeanwhile = (owner: string, answered: Answered) =>
    meanwhile(
      accounts.get(accountStreamOf({ ...place, userId: owner, currencyId: CURRENCY.id })),
      account.initialState,
      answered,
    );
  const sessionsMeanwhile = (id: string, answered: Answered) =>
    meanwhile(sessions.get(sessionStreamOf(id)), playSession.initialState, answered);
  const sessionStreamOf = (id: string) => playSessionStream(place.environment, place.appId, id);

  return function explain(answered: Answered): void {
    const { request } = answered;
    switch (request.op) {
      case 'credit':
      case 'debit':
      case 'figures': {
        const states = accountsMeanwhile(request.userId, answered);
        requireOne(answered, states, (state) => accountAnswer(state, request));
        return;
      }
      case 'open':
        explainOpen(answered, request);
        return;
      case 'settle': {
        requireOne(answered, sessionsMeanwhile(request.sessionId, answered), (state) =>
          sessionAnswer(state, request, answered.answer),
        );
        if (answered.answer.accepted) requirePaidOut(request.sessionId, answered);
        return;
      }
      default:
        requireOne(answered, sessionsMeanwhile(request.sessionId, answered), (state) =>
          sessionAnswer(state, request, answered.answer),
        );
        if (request.op === 'rollback') requireCredited(request, answered);
    }
  };

  function explainOpen(answered: Answered, request: Extract<Request, { op: 'open' }>): void {
    const { answer } = answered;
    const id = sessionIdOf(request.transactionUuid);
    const holdId = `session:${id}` as const;
    const asked = { ...request, currency: CURRENCY.code };
    const ofSession = sessionsMeanwhile(id, answered);
    const ofAccount = accountsMeanwhile(request.userId, answered);
    if (answer.accepted) {
      const session = ofSession.at(-1) ?? playSession.initialState;
      assert(session.status !== 'unknown', 'an open is answered when the session is there');
      assert.equal(openDifference(session.terms, asked), undefined, 'it was opened with other content');
      assert.equal(answer.body, JSON.stringify(openedBody({ outcome: 'opened', ...session.terms })));
      return;
    }
    if (answer.code === 'ledger/insufficient_funds') {
      requireOne(answered, ofAccount, ({ available, openHolds, closedHolds }) => {
        if (openHolds.has(holdId) || closedHolds.has(holdId)) return 'the funds were held';
        return refusalOf(new Rejection(answer.code, { available, amount: request.lockAmount }));
      });
      return;
    }
    const conflictWith = (field: string | undefined) =>
      refusalOf(
        new Rejection('ledger/transaction_conflict', { transactionUuid: request.transactionUuid, field }),
      );
    const fields = [
      ...ofSession.map((session) =>
        session.status === 'unknown' ? undefined : openDifference(session.terms, asked),
      ),
      ...ofAccount.map(({ openHolds }) => {
        const hold = openHolds.get(holdId);
        if (!hold) return undefined;
        if (hold.request.gameCode !== request.gameCode) return 'gameCode';
        return hold.amount === request.lockAmount ? undefined : 'lockAmount';
      }),
    ];
    requireOne(answered, fields, conflictWith);
  }

  /** Answered once the payout is in the available funds. */
  function requirePaidOut(id: string, answered: Answered): void {
    const session = sessionsMeanwhile(id, answered).at(-1);
    assert(session?.status === 'settled');
    const owner = accountsMeanwhile(session.terms.userId, answered).at(-1);
    assert.equal(owner?.closedHolds.get(`session:${id}`), session.balance, 'the payout has been paid');
  }

  function requireCredited(request: Extract<Request, { op: 'rollback' }>, answered: Answered): void {
    const session = sessionsMeanwhile(request.sessionId, answered).at(-1);
    if (!session || session.status === 'unknown') return;
    const rollback = session.transactions.get(request.transactionUuid);
    if (rollback?.kind !== 'rollback' || !rollback.late || !answered.answer.accepted) return;
    const owner = accountsMeanwhile(session.terms.userId, answered).at(-1);
    const entry = owner?.entries.get(`rollback:${request.sessionId}/${request.transactionUuid}`);
    assert.equal(entry?.amount ?? 0n, rollback.amount, 'the late rollback has been paid');
  }
}

function requireOne<State>(
  { request, answer }: Answered,
  states: readonly State[],
  answerOf: (state: State) => Answer | string,
): void {
  const possible = states.map(answerOf);
  const wanted = JSON.stringify(answer);
  if (possible.some((each) => JSON.stringify(each) === wanted)) return;
  assert.fail(`No state explains ${show(request)} → ${show(answer)}; possible was ${show(possible)}`);
}

export const show = (value: unknown) =>
  JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}` : each));

function accountAnswer(
  state: Account,
  request: Extract<Request, { op: 'credit' | 'debit' | 'figures' }>,
): Answer {
  if (request.op === 'figures') return accepted(figuresBody(state));
  return decided(() => {
    const { answer } = account.decide(state, {
      type: request.op === 'credit' ? 'CreditAccount' : 'DebitAccount',
      entryId: adjustmentEntryId(request.ref),
      amount: request.amount,
      reason: 'adjustment',
    });
    assert(answer.outcome === 'booked');
    return figuresBody(answer);
  });
}

function sessionAnswer(
  state: PlaySession,
  request: Extract<Request, { sessionId: string }>,
  given: Answer,
): Answer {
  return decided(() => {
    if (request.op === 'balance') {
      if (state.status === 'unknown') throw new Rejection('ledger/session_not_found');
      return balanceBody(state);
    }
    const { transactionUuid } = request;
    const { answer } = playSession.decide(
      state,
      request.op === 'settle'
        ? { type: 'SettleSession', transactionUuid, at: settledAtIn(given) }
        : writeCommandOf(request),
    );
    assert(answer.outcome !== 'lost');
    return answerBody(answer);
  });
}

/** The time is the one thing that no state can tell of a settlement that is just made. */
const settledAtIn = (given: Answer): string => (given.accepted ? JSON.parse(given.body).settledAt : '');

const accepted = (body: object): Answer => ({ accepted: true, body: JSON.stringify(body) });

function decided(answerOf: () => object): Answer {
  try {
    return accepted(answerOf());
  } catch (error) {
    if (error instanceof Rejection) return refusalOf(error);
    throw error;
  }
}
