/**
 * Referral codes: claimed under the code, then issued to the user. A user has one for ever, so a claim that comes second
 * is given up. Source: contract, Referrals (codes).
 */
import assert from 'node:assert/strict';
import {
  afterFirstAppend,
  type CommandHandler,
  causedBy,
  type EventStore,
  type Requester,
  readEvent,
  requestedBy,
  type StreamEvent,
} from '@coffer/event-store';
import { type AppPlace, type Clock, type FailPoint, isoTimeOf, parseStreamName } from '@coffer/kernel';
import { referral, referralStreamOf } from './domain/referral.ts';
import { referralCodeEvents } from './domain/referralCode.events.ts';
import { foldedCode, referralCode, referralCodeStreamOf } from './domain/referralCode.ts';
import { reject } from './errors.ts';

/** Referrals are kept for each app and environment. */
export type ReferralsOf = Pick<AppPlace, 'appId' | 'environment'>;

export interface CodeDependencies {
  readonly handler: Pick<CommandHandler, 'execute' | 'load'>;
  readonly clock: Clock;
  readonly failPoint: FailPoint;
  readonly store: Pick<EventStore, 'readStream'>;
  /** A random code. Called again if that code is taken. */
  readonly makeCode: () => string;
}

export type Codes = ReturnType<typeof createCodes>;

export function createCodes({ handler, store, clock, failPoint, makeCode }: CodeDependencies) {
  return { ensure, ownerOf, issue };

  /**
   * The user's code, made if there is none. If another one was wanted, throws `referrals/code_already_issued` or
   * `referrals/code_taken`.
   */
  async function ensure(
    place: ReferralsOf,
    userId: string,
    wanted: string | undefined,
    context: Requester,
  ): Promise<string> {
    const { code } = await handler.load(referral, referralStreamOf({ ...place, userId }), context);
    return code === undefined ? claim(place, userId, wanted, context) : sameAs(wanted, code);
  }

  async function claim(
    place: ReferralsOf,
    userId: string,
    wanted: string | undefined,
    context: Requester,
  ): Promise<string> {
    const code = wanted ?? makeCode();
    const stream = referralCodeStreamOf({ ...place, code });
    const command = { type: 'ClaimCode', code, userId } as const;
    const outcome = await handler.execute(
      referralCode,
      stream,
      command,
      requestedBy(context, isoTimeOf(clock)),
    );
    const owner = outcome.answer.claim;
    assert(owner, 'a code that was claimed has an owner');
    failPoint('code.claimed');
    if (owner.userId === userId) {
      const issued = await afterFirstAppend(async () =>
        issue(outcome.appended[0] ?? (await readEvent(store, stream, owner.revision)), context.deadlineMs),
      );
      failPoint('code.issued');
      return sameAs(wanted, issued);
    }
    if (wanted !== undefined) throw reject('referrals/code_taken', { code: owner.code });
    return claim(place, userId, wanted, context);
  }

  /** What follows from a claim: the user has the code, or keeps an earlier one and gives this one up. */
  async function issue(cause: StreamEvent, deadlineMs: number): Promise<string> {
    const event = referralCodeEvents.decode(cause);
    assert(event.type === 'CodeClaimed');
    const { code, userId } = event.data;
    const parts = parseStreamName(cause.stream);
    assert(parts, `${cause.stream} is nobody's code`);
    const stream = referralStreamOf({ environment: parts.environment, appId: parts.owner, userId });
    const { answer } = await handler.execute(
      referral,
      stream,
      { type: 'IssueCode', code },
      causedBy(cause, stream, deadlineMs),
    );
    assert(answer.code !== undefined);
    if (!isSameCode(answer.code, code)) {
      const release = { type: 'ReleaseCode', userId } as const;
      await handler.execute(referralCode, cause.stream, release, causedBy(cause, cause.stream, deadlineMs));
    }
    return answer.code;
  }

  /** Whose code this is, as its owner writes it; undefined if nobody's. From confirmed current states. */
  async function ownerOf(
    place: ReferralsOf,
    code: string,
    context: Requester,
  ): Promise<{ readonly userId: string; readonly code: string } | undefined> {
    const { claim: held } = await handler.load(
      referralCode,
      referralCodeStreamOf({ ...place, code }),
      context,
    );
    if (!held) return undefined;
    const { userId } = held;
    const issued = (await handler.load(referral, referralStreamOf({ ...place, userId }), context)).code;
    // A claim counts once its user has the code: whoever can be named as a referrer is known to have one.
    return issued !== undefined && isSameCode(issued, code) ? { userId, code: issued } : undefined;
  }
}

export const isSameCode = (one: string, other: string): boolean => foldedCode(one) === foldedCode(other);

function sameAs(wanted: string | undefined, code: string): string {
  if (wanted !== undefined && !isSameCode(wanted, code)) {
    throw reject('referrals/code_already_issued', { code });
  }
  return code;
}
