/**
 * How a play session begins: the player's account reserves the funds, then the session is opened on that hold. The
 * second event is a pure function of the first, so the request that began it and the process that finishes it after a
 * crash write the same bytes. Source: contract, Ledger; ADR 0006.
 */
import assert from 'node:assert/strict';
import { type Accounts, holdOpenedBy, type OpenedHold, sessionHoldId } from '@coffer/accounts';
import {
  afterFirstAppend,
  type CommandHandler,
  causedBy,
  type Deadline,
  type Outcome,
  type Requester,
  requestedBy,
  type StreamEvent,
} from '@coffer/event-store';
import {
  type AppPlace,
  type Clock,
  type FailPoint,
  idFromParts,
  isoTimeOf,
  newId,
  type Rejection,
} from '@coffer/kernel';
import type { Users } from '@coffer/users';
import { z } from 'zod';
import { type OpenedAnswer, openedAnswer } from './domain/playSession.answers.ts';
import type { OpenRequest } from './domain/playSession.resource.ts';
import type { SessionTerms } from './domain/playSession.state.ts';
import { openDifference, playSession, playSessionStream } from './domain/playSession.ts';
import { reject } from './errors.ts';
import { streamOf } from './sessionStreams.ts';

export interface OpeningDependencies {
  readonly handler: CommandHandler;
  readonly clock: Clock;
  readonly failPoint: FailPoint;
  readonly accounts: Pick<Accounts, 'hold' | 'closeHold'>;
  readonly users: Pick<Users, 'show' | 'requireActive'>;
  readonly currencyByCode: (
    appId: string,
    code: string,
  ) => { readonly id: number } | undefined | Promise<{ readonly id: number } | undefined>;
}

export function createOpenings({
  handler,
  clock,
  failPoint,
  accounts,
  users,
  currencyByCode,
}: OpeningDependencies) {
  return { open, openFromHold };

  /** Reserve on the account, then act on the session. Safe to repeat if it carries a `transactionUuid`. */
  async function open(
    place: AppPlace,
    request: OpenRequest,
    context: Requester,
  ): Promise<Outcome<OpenedAnswer>> {
    const { appId, environment, scopeId } = place;
    const { userId, currency, lockAmount, transactionUuid } = request;
    const user = { environment, scopeId, userId };
    const { status } = await users.show(user, context);
    const currencyId = (await currencyByCode(appId, currency))?.id;
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
      requestedBy(context, isoTimeOf(clock)),
    );
    failPoint('open.held');

    switch (hold.outcome) {
      case 'insufficient':
        throw reject('ledger/insufficient_funds', { available: hold.available, amount: lockAmount });
      case 'closed':
        return requireReplay(await openedBefore(place, sessionId, request, context));
      case 'alreadyHeld': {
        const field = openDifference(termsOf(heldForSession(hold.cause)), request);
        if (field) throw conflictOf(transactionUuid, field);
      }
    }
    return afterFirstAppend(async () => {
      const outcome = await openFromHold(hold.cause, context.deadlineMs);
      failPoint('open.opened');
      if (!outcome) return requireReplay(await openedBefore(place, sessionId, request, context));
      // Whoever held the funds began it, even if the process or a repeat has opened the session in the meantime.
      return { ...outcome, replayed: hold.outcome !== 'held' };
    });
  }

  /**
   * The act of a hold: opens the session that the funds are held for. Undefined if another account's hold opened it
   * first; this hold is then closed in full.
   */
  async function openFromHold(
    cause: StreamEvent,
    deadlineMs: number,
  ): Promise<Outcome<OpenedAnswer> | undefined> {
    const hold = heldForSession(cause);
    const { account } = hold;
    const terms = termsOf(hold);
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

  /** The original answer if the session is open already; throws if it was opened with other content. */
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
    return { answer: openedAnswer(session.terms), replayed: true, appended: [] };
  }
}

function sessionIdOf({ appId, environment }: AppPlace, transactionUuid: string | undefined): string {
  if (transactionUuid === undefined) return newId('ses');
  return idFromParts('ses', 'playSession', environment, appId, transactionUuid);
}

/** The whole command, as recorded in the event that holds the funds; the rest is in the hold itself. */
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

function heldForSession(cause: StreamEvent): OpenedHold {
  const hold = holdOpenedBy(cause, 'session');
  assert(hold, `${cause.type} of ${cause.stream} holds nothing for a play session`);
  return hold;
}

function termsOf({ account: { userId, currencyId }, amount, request }: OpenedHold): SessionTerms {
  return { ...heldRequest.parse(request), userId, currencyId, lockAmount: amount };
}

function conflictOf(transactionUuid: string | undefined, field: string): Rejection {
  return reject('ledger/transaction_conflict', { transactionUuid, field });
}

/** A hold that is closed or lost implies that a session was opened; otherwise the books would be wrong. */
function requireReplay(replay: Outcome<OpenedAnswer> | undefined): Outcome<OpenedAnswer> {
  assert(replay, 'a hold was given back, but no session was opened in its place');
  return replay;
}
