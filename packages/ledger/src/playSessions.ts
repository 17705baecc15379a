/**
 * Play sessions across their two streams: the player's account reserves, the session acts, the account closes the hold.
 * Each later event is a pure function of the one before it, so the request that began it and the process that finishes
 * it after a crash write the same bytes. Source: contract, Ledger; ADR 0006.
 */
import assert from 'node:assert/strict';
import { type Accounts, rollbackEntryId, sessionHoldId } from '@coffer/accounts';
import {
  afterFirstAppend,
  type CommandContext,
  type Deadline,
  type EventStore,
  type LoadContext,
  type Outcome,
  type Requester,
  readEvent,
  requestedBy,
  type Settled,
  type StreamEvent,
} from '@coffer/event-store';
import { type AppPlace, isoTimeOf, Rejection } from '@coffer/kernel';
import type { PlaySessionAnswer, RollbackAnswer, SettledAnswer } from './domain/playSession.answers.ts';
import { type PlaySessionEvent, playSessionEvents } from './domain/playSession.events.ts';
import type { KnownSession, SessionFacts } from './domain/playSession.state.ts';
import { type PlaySessionCommand, playSession } from './domain/playSession.ts';
import { reject } from './errors.ts';
import { createOpenings, type OpeningDependencies } from './openings.ts';
import { playSessionPlace, streamOf } from './sessionStreams.ts';

export interface PlaySessionDependencies extends OpeningDependencies {
  readonly store: Pick<EventStore, 'readStream'>;
  readonly accounts: Pick<Accounts, 'hold' | 'closeHold' | 'creditLateRollback'>;
}

/** A command on an open session, as requested. */
export type WriteCommand = Extract<PlaySessionCommand, { type: 'PlaceBet' | 'CreditWin' | 'RollBackBet' }>;

export type PlaySessions = ReturnType<typeof createPlaySessions>;

export function createPlaySessions(dependencies: PlaySessionDependencies) {
  const { handler, store, clock, failPoint, accounts } = dependencies;
  const { open, openFromHold } = createOpenings(dependencies);

  return {
    open,
    write,
    writeAll,
    settle,
    load,
    loadFacts,
    carryOut: { open: openFromHold, close, creditLateRollback },
  };

  /** A bet, a win or a rollback. */
  async function write(
    place: AppPlace,
    sessionId: string,
    command: WriteCommand,
    context: Requester,
  ): Promise<Outcome<PlaySessionAnswer>> {
    const stream = streamOf(place, sessionId);
    const outcome = await handler.execute(playSession, stream, command, contextOf(context));
    if (isLate(outcome)) await finishRollback(stream, outcome, context.deadlineMs);
    return outcome;
  }

  /** Bets, wins and rollbacks in order, in one append; each is answered as it would be alone. */
  async function writeAll(
    place: AppPlace,
    sessionId: string,
    commands: readonly WriteCommand[],
    context: Requester,
  ): Promise<readonly Settled<PlaySessionAnswer>[]> {
    const stream = streamOf(place, sessionId);
    const results = await handler.executeAll(playSession, stream, commands, contextOf(context));
    for (const result of results) {
      if (result.status === 'decided') {
        if (isLate(result)) await finishRollback(stream, result, context.deadlineMs);
      }
      // An absent session is one error instead of a thousand.
      else if (isRejection(result.reason, 'ledger/session_not_found')) throw result.reason;
    }
    return results;
  }

  /** Decides the payout, then gives it to the player. Answered once it is in the available funds. */
  async function settle(
    place: AppPlace,
    sessionId: string,
    transactionUuid: string | undefined,
    context: Requester,
  ): Promise<Outcome<SettledAnswer>> {
    const stream = streamOf(place, sessionId);
    failPoint('settle.beforeSettle');
    const outcome = await handler.execute(
      playSession,
      stream,
      { type: 'SettleSession', transactionUuid, at: isoTimeOf(clock) },
      contextOf(context),
    );
    const { answer } = outcome;
    assert(answer.outcome === 'settled');
    failPoint('settle.settled');
    await afterFirstAppend(async () => {
      const cause = outcome.appended[0] ?? (await readEvent(store, stream, answer.revision));
      await close(cause, context.deadlineMs);
    });
    failPoint('settle.closed');
    return { ...outcome, answer };
  }

  /** The follow-up of a settlement: closes the session's hold with the payout. */
  async function close(cause: StreamEvent, deadlineMs: number): Promise<void> {
    const event = decoded(cause, 'SessionSettled');
    const { appId, environment, sessionId } = playSessionPlace(cause.stream);
    const { userId, currencyId, payout } = event.data;
    const account = { environment, appId, userId, currencyId };
    await accounts.closeHold(account, { holdId: sessionHoldId(sessionId), payout }, cause, deadlineMs);
  }

  /** A bet rolled back after the settlement: the house pays the stake into the player's available funds. */
  async function creditLateRollback(cause: StreamEvent, deadlineMs: number): Promise<void> {
    const { transactionUuid, amount, late } = decoded(cause, 'BetRolledBack').data;
    const { appId, environment, sessionId } = playSessionPlace(cause.stream);
    assert(late, `${cause.stream} rolled ${transactionUuid} back while it was open`);
    const entryId = rollbackEntryId(sessionId, transactionUuid);
    await accounts.creditLateRollback(
      { environment, appId, ...late },
      { entryId, amount },
      cause,
      deadlineMs,
    );
  }

  async function finishRollback(
    stream: string,
    { answer, appended }: LateRollback,
    deadlineMs: number,
  ): Promise<void> {
    failPoint('lateRollback.rolledBack');
    await afterFirstAppend(async () =>
      creditLateRollback(appended[0] ?? (await readEvent(store, stream, answer.late.revision)), deadlineMs),
    );
    failPoint('lateRollback.credited');
  }

  /** The session, from a confirmed current state. Throws `ledger/session_not_found`. */
  async function load(place: AppPlace, sessionId: string, context: LoadContext): Promise<KnownSession> {
    const session = await handler.load(playSession, streamOf(place, sessionId), context);
    if (session.status === 'unknown') throw reject('ledger/session_not_found');
    return session;
  }

  /** The same without what it remembers of its writes. */
  function loadFacts(place: AppPlace, sessionId: string, { deadlineMs }: Deadline): Promise<SessionFacts> {
    return load(place, sessionId, { deadlineMs, outlineSuffices: true });
  }

  function contextOf(request: Requester): CommandContext {
    return requestedBy(request, isoTimeOf(clock));
  }
}

/**
 * A bet rolled back after the settlement, now or in an earlier request that this one repeats: the player is to be
 * credited.
 */
interface LateRollback extends Outcome<PlaySessionAnswer> {
  readonly answer: RollbackAnswer & { readonly late: NonNullable<RollbackAnswer['late']> };
}

function isLate(outcome: Outcome<PlaySessionAnswer>): outcome is LateRollback {
  return outcome.answer.outcome === 'rollback' && outcome.answer.late !== undefined;
}

type EventOfType<Type extends PlaySessionEvent['type']> = Extract<PlaySessionEvent, { type: Type }>;

function decoded<Type extends PlaySessionEvent['type']>(stored: StreamEvent, type: Type): EventOfType<Type> {
  const event = playSessionEvents.decode(stored);
  assert(event.type === type, `${stored.stream} has a ${event.type} where a ${type} was expected`);
  // Proved by the line above, which the compiler cannot follow through the type parameter.
  return event as EventOfType<Type>;
}

function isRejection(reason: unknown, code: string): reason is Rejection {
  return reason instanceof Rejection && reason.code === code;
}
