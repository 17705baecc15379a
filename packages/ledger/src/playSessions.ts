/**
 * Play sessions across their two streams: the player's account reserves, the session acts, the account
 * closes. Each later event is a pure function of the one before it, so the request that began and the
 * process that finishes it after a crash write the same bytes. Source: contract, Ledger; ADR 0006.
 */
import assert from 'node:assert/strict';
import {
  type AccountKey,
  type Accounts,
  holdOpenedBy,
  rollbackEntryId,
  sessionHoldId,
} from '@coffer/accounts';
import {
  afterFirstAppend,
  type CommandContext,
  type CommandHandler,
  causedBy,
  type Deadline,
  type EventStore,
  type Outcome,
  type Requester,
  readEvent,
  requestedBy,
  type Settled,
  type StreamEvent,
} from '@coffer/event-store';
import {
  type AppPlace,
  type Clock,
  type FailPoint,
  idFromParts,
  isId,
  isoTimeOf,
  newId,
  parseStreamName,
  Rejection,
} from '@coffer/kernel';
import type { Users } from '@coffer/users';
import { z } from 'zod';
import type {
  OpenedAnswer,
  PlaySessionAnswer,
  RollbackAnswer,
  SettledAnswer,
} from './domain/playSession.answers.ts';
import { type PlaySessionEvent, playSessionEvents } from './domain/playSession.events.ts';
import type { KnownSession, SessionTerms } from './domain/playSession.state.ts';
import {
  openDifference,
  type PlaySessionCommand,
  playSession,
  playSessionStream,
} from './domain/playSession.ts';
import { reject } from './errors.ts';

export interface OpenRequest {
  readonly userId: string;
  readonly gameCode: string;
  readonly currency: string;
  readonly lockAmount: bigint;
  readonly transactionUuid?: string | undefined;
}

export interface PlaySessionDependencies {
  readonly handler: CommandHandler;
  readonly store: Pick<EventStore, 'readStream'>;
  readonly clock: Clock;
  readonly failPoint: FailPoint;
  readonly accounts: Pick<Accounts, 'hold' | 'closeHold' | 'creditLateRollback'>;
  readonly users: Pick<Users, 'show' | 'requireActive'>;
  readonly currencyByCode: (
    appId: string,
    code: string,
  ) => { readonly id: number } | undefined | Promise<{ readonly id: number } | undefined>;
}

/** What a command on an open session asks for. */
export type WriteCommand = Extract<PlaySessionCommand, { type: 'PlaceBet' | 'CreditWin' | 'RollBackBet' }>;

export type PlaySessions = ReturnType<typeof createPlaySessions>;

export function createPlaySessions(dependencies: PlaySessionDependencies) {
  const { handler, store, clock, failPoint, accounts, users } = dependencies;

  return { open, write, writeAll, settle, load, carryOut: { open: openFromHold, close, creditLateRollback } };

  /** Reserve on the account, then act on the session. Safe to repeat when it carries a `transactionUuid`. */
  async function open(
    place: AppPlace,
    request: OpenRequest,
    context: Requester,
  ): Promise<Outcome<OpenedAnswer>> {
    const { appId, environment, scopeId } = place;
    const { userId, currency, lockAmount, transactionUuid } = request;
    const user = { environment, scopeId, userId };
    const { status } = await users.show(user, context);
    const currencyId = (await dependencies.currencyByCode(appId, currency))?.id;
    if (currencyId === undefined) throw reject('ledger/unknown_currency');

    const sessionId = sessionIdOf(place, transactionUuid);
    if (transactionUuid !== undefined) {
      const replay = await openedBefore(place, sessionId, request, context);
      if (replay) return replay;
    }
    if (status !== 'active') await users.requireActive(user, context);

    failPoint('open.beforeHold');
    const openedAt = isoTimeOf(clock);
    const account = { environment, appId, userId, currencyId };
    const hold = await accounts.hold(
      account,
      {
        holdId: sessionHoldId(sessionId),
        amount: lockAmount,
        purpose: 'session',
        request: requestOf({ ...request, sessionId, currencyId, openedAt }),
      },
      contextOf(context),
    );
    failPoint('open.held');

    switch (hold.outcome) {
      case 'insufficient':
        throw reject('ledger/insufficient_funds', { available: hold.available, amount: lockAmount });
      case 'closed':
        return requireReplay(await openedBefore(place, sessionId, request, context));
      case 'alreadyHeld': {
        const field = openDifference(termsOf(account, hold.hold), request);
        if (field) throw conflictOf(transactionUuid, field);
      }
    }
    return afterFirstAppend(async () => {
      const outcome = await openFromHold(hold.cause, context.deadlineMs);
      failPoint('open.opened');
      if (!outcome) return requireReplay(await openedBefore(place, sessionId, request, context));
      // Who held the funds has begun it, also where the process has opened the session meanwhile.
      return { ...outcome, replayed: outcome.replayed && hold.outcome !== 'held' };
    });
  }

  /**
   * The act of a hold: opens the session that the funds are held for. Undefined when another account's hold
   * opened it first; this hold is then closed in full.
   */
  async function openFromHold(
    cause: StreamEvent,
    deadlineMs: number,
  ): Promise<Outcome<OpenedAnswer> | undefined> {
    const hold = holdOpenedBy(cause, 'session');
    assert(hold, `${cause.type} of ${cause.stream} holds nothing for a play session`);
    const { account } = hold;
    const terms = termsOf(account, hold);
    const stream = playSessionStream(account.environment, account.appId, terms.sessionId);
    const command = { type: 'OpenSession', ...terms } as const;
    const outcome = await handler.execute(playSession, stream, command, causedBy(cause, stream, deadlineMs));
    const { answer } = outcome;
    if (answer.outcome === 'opened') return { ...outcome, answer };
    assert(answer.outcome === 'lost');
    const { userId, currencyId } = answer.owner;
    assert(userId !== account.userId || currencyId !== account.currencyId, 'a hold lost to itself');
    await accounts.closeHold(account, { holdId: hold.holdId, payout: hold.amount }, cause, deadlineMs);
    return undefined;
  }

  /** The original answer when the session is open already; throws when it was opened with other content. */
  async function openedBefore(
    place: AppPlace,
    sessionId: string,
    request: OpenRequest,
    deadline: Deadline,
  ): Promise<Outcome<OpenedAnswer> | undefined> {
    const session = await handler.load(playSession, streamOf(place, sessionId), deadline);
    if (session.status === 'unknown') return undefined;
    const field = openDifference(session.terms, request);
    if (field) throw conflictOf(request.transactionUuid, field);
    const { transactionUuid: _, ...terms } = session.terms;
    return { answer: { outcome: 'opened', ...terms }, replayed: true, appended: [] };
  }

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

  /** Bets, wins and rollbacks in order, in one append; each answered as it would be alone. */
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
      // An absent session is one error and not a thousand.
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

  /** The session, confirmed current. Throws `ledger/session_not_found`. */
  async function load(place: AppPlace, sessionId: string, deadline: Deadline): Promise<KnownSession> {
    const session = await handler.load(playSession, streamOf(place, sessionId), deadline);
    if (session.status === 'unknown') throw reject('ledger/session_not_found');
    return session;
  }

  function contextOf(request: Requester): CommandContext {
    return requestedBy(request, isoTimeOf(clock));
  }
}

/** A bet rolled back after the settlement, now or when this is a repeat: the player is to be credited. */
interface LateRollback extends Outcome<PlaySessionAnswer> {
  readonly answer: RollbackAnswer & { readonly late: NonNullable<RollbackAnswer['late']> };
}

function isLate(outcome: Outcome<PlaySessionAnswer>): outcome is LateRollback {
  return outcome.answer.outcome === 'rollback' && outcome.answer.late !== undefined;
}

/** The stream of a session of this app. An id of the wrong form is an absent session. */
export function streamOf({ environment, appId }: AppPlace, sessionId: string): string {
  if (!isId('ses', sessionId)) throw reject('ledger/session_not_found');
  return playSessionStream(environment, appId, sessionId);
}

function sessionIdOf({ appId, environment }: AppPlace, transactionUuid: string | undefined): string {
  if (transactionUuid === undefined) return newId('ses');
  return idFromParts('ses', 'playSession', environment, appId, transactionUuid);
}

/** The whole command, as the event that holds the funds keeps it; the rest stands in the hold itself. */
function requestOf({ sessionId, gameCode, currency, transactionUuid, openedAt }: SessionTerms) {
  const request = { sessionId, gameCode, currency, openedAt };
  return transactionUuid === undefined ? request : { ...request, transactionUuid };
}

const heldRequest = z.object({
  sessionId: z.string(),
  gameCode: z.string(),
  currency: z.string(),
  openedAt: z.string(),
  transactionUuid: z.string().optional(),
});

function termsOf(
  { userId, currencyId }: AccountKey,
  hold: { readonly amount: bigint; readonly request: Readonly<Record<string, string>> },
): SessionTerms {
  return { ...heldRequest.parse(hold.request), userId, currencyId, lockAmount: hold.amount };
}

/** The session that a stream is of; the stream of an event that this context wrote always is one. */
export function playSessionPlace(stream: string) {
  const parts = parseStreamName(stream);
  assert(parts?.category === playSession.category, `${stream} is no play session`);
  return { environment: parts.environment, appId: parts.owner, sessionId: parts.id };
}

type EventOfType<Type extends PlaySessionEvent['type']> = Extract<PlaySessionEvent, { type: Type }>;

function decoded<Type extends PlaySessionEvent['type']>(stored: StreamEvent, type: Type): EventOfType<Type> {
  const event = playSessionEvents.decode(stored);
  assert(event.type === type, `${stored.stream} has a ${event.type} where a ${type} was looked for`);
  // Proved by the line above, which the compiler cannot follow through the type parameter.
  return event as EventOfType<Type>;
}

function conflictOf(transactionUuid: string | undefined, field: string): Rejection {
  return reject('ledger/transaction_conflict', { transactionUuid, field });
}

function isRejection(reason: unknown, code: string): reason is Rejection {
  return reason instanceof Rejection && reason.code === code;
}

/** A hold that is closed or lost has a session that was opened; without one the books would be wrong. */
function requireReplay(replay: Outcome<OpenedAnswer> | undefined): Outcome<OpenedAnswer> {
  assert(replay, 'a hold was given back, but no session was opened in its place');
  return replay;
}
