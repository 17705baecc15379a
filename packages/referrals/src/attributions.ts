/**
 * Who brought whom. First touch wins, and nobody's chain of referrers leads back to them: what is decided where is told
 * in `domain/referral.ts`. Source: contract, Referrals (attribution); ADR 0052.
 */
import assert from 'node:assert/strict';
import {
  afterFirstAppend,
  type CommandContext,
  type CommandHandler,
  causedBy,
  type Outcome,
  type Requester,
  requestedBy,
  type StreamEvent,
} from '@coffer/event-store';
import { type AppPlace, type Clock, type FailPoint, isoTimeOf } from '@coffer/kernel';
import { isSameCode } from './codes.ts';
import {
  parseReferralStream,
  type Referral,
  type ReferralPlace,
  referral,
  referralStreamOf,
} from './domain/referral.ts';
import { createKnownLinks } from './knownLinks.ts';

export type Attribution =
  | { readonly attributed: true; readonly referrerUserId: string }
  | { readonly attributed: false; readonly reason: 'unknown_code' | 'self' | 'cycle' }
  | { readonly attributed: false; readonly reason: 'already_attributed'; readonly referrerUserId: string };

export interface AttributionDependencies {
  readonly handler: Pick<CommandHandler, 'execute'>;
  readonly clock: Clock;
  readonly failPoint: FailPoint;
  /** Undefined for a code that is nobody's, or an erased user's. */
  readonly referrerOf: (
    place: AppPlace,
    code: string,
    context: Requester,
  ) => Promise<{ readonly userId: string; readonly code: string } | undefined>;
}

interface BegunLink extends ReferralPlace {
  readonly begunAt: number;
}

export type Attributions = ReturnType<typeof createAttributions>;

export function createAttributions({ handler, clock, failPoint, referrerOf }: AttributionDependencies) {
  const knownLinks = createKnownLinks();
  return { attribute, attributeByCodes, finish };

  /** Safe to repeat: the same code again is answered like the first time. */
  async function attribute(
    place: AppPlace,
    userId: string,
    code: string,
    context: Requester,
  ): Promise<Outcome<Attribution>> {
    const user = { ...place, userId };
    const by = () => requestedBy(context, isoTimeOf(clock));
    const before = await show(user, by());
    if (before.link?.status === 'attributed' && isSameCode(before.link.code, code)) {
      return { answer: attributedBy(before.link.referrerUserId), replayed: true, appended: [] };
    }
    const referrer = await referrerOf(place, code, context);
    if (!referrer) return refused('unknown_code');
    if (referrer.userId === userId) return refused('self');
    if (before.code !== undefined && !before.link) {
      const circle = await circleThrough(user, referrer.userId, by());
      if (circle?.length === 0) return refused('cycle');
    }

    const { answer, appended } = await handler.execute(
      referral,
      referralStreamOf(user),
      { type: 'Attribute', referrerUserId: referrer.userId, code: referrer.code },
      by(),
    );
    failPoint('attribution.begun');
    const { link } = answer;
    assert(link, 'after it there is a link');
    if (link.status === 'begun') {
      const ended = await afterFirstAppend(() => end({ ...user, begunAt: link.revision }, by()));
      failPoint('attribution.finished');
      if (!isSameCode(link.code, code)) return attribute(place, userId, code, context);
      return outcomeOf(ended, code, appended);
    }
    return outcomeOf(answer, code, appended);
  }

  /** By the first of these codes that counts, unless the user has a referrer; does nothing if none does. */
  async function attributeByCodes(
    place: AppPlace,
    userId: string,
    codes: readonly string[],
    { metadata, deadlineMs }: CommandContext,
  ): Promise<void> {
    const context = { requestId: metadata.correlationId, actor: metadata.actor, deadlineMs };
    for (const code of codes) {
      const { answer } = await attribute(place, userId, code, context);
      if (answer.attributed || answer.reason === 'already_attributed') return;
    }
  }

  /** What follows from an attribution that was begun. */
  async function finish(cause: StreamEvent, deadlineMs: number): Promise<void> {
    const user = parseReferralStream(cause.stream);
    assert(user, `${cause.stream} is nobody's referrals`);
    // Two processes may end it differently, each by what it saw, so their events are not the same.
    const { eventIds: _same, ...context } = causedBy(cause, cause.stream, deadlineMs);
    await end({ ...user, begunAt: cause.revision }, context);
  }

  /**
   * Attributes the link, or drops it if it would close a circle. If other links of the circle are not finished either,
   * the one of the largest user id gives way, whoever comes upon it, and its own stream decides whether it still can.
   */
  async function end(begun: BegunLink, context: CommandContext): Promise<Referral> {
    for (;;) {
      const state = await show(begun, context);
      if (state.link?.status !== 'begun' || state.link.revision !== begun.begunAt) return state;
      const circle = await circleThrough(begun, state.link.referrerUserId, context);
      const givesWay =
        circle && [...circle, begun].reduce((one, other) => (other.userId > one.userId ? other : one));
      const target = givesWay ?? begun;
      const { answer } = await handler.execute(
        referral,
        referralStreamOf(target),
        { type: 'FinishAttribution', begunAt: target.begunAt, closesCircle: circle !== undefined },
        context,
      );
      if (target === begun) return answer;
    }
  }

  /**
   * The unfinished links on the way from this referrer back to the user; undefined if there is no way back. Known links
   * are final and the user's is not, so none of them leads past the user.
   */
  async function circleThrough(
    user: ReferralPlace,
    referrerUserId: string,
    context: CommandContext,
  ): Promise<readonly BegunLink[] | undefined> {
    const met = new Set<string>();
    const begun: BegunLink[] = [];
    let finals: string[] = [];
    let userId = referrerUserId;
    try {
      while (userId !== user.userId) {
        // A circle of others, which they break themselves.
        if (met.has(userId)) return undefined;
        met.add(userId);
        const above = { ...user, userId };
        const link = await linkOf(above, context);
        if (!link) return undefined;
        if (link.begunAt === undefined) finals.push(referralStreamOf(above));
        else {
          begun.push({ ...above, begunAt: link.begunAt });
          knownLinks.learn(finals, userId);
          finals = [];
        }
        userId = link.above;
      }
    } finally {
      knownLinks.learn(finals, userId);
    }
    return begun;
  }

  /** The referrer, or somebody further up if all links between are known to be final. */
  async function linkOf(
    user: ReferralPlace,
    context: CommandContext,
  ): Promise<{ readonly above: string; readonly begunAt?: number } | undefined> {
    const known = knownLinks.aboveOf(referralStreamOf(user));
    if (known !== undefined) return { above: known };
    const { link } = await show(user, context);
    if (!link) return undefined;
    const { referrerUserId: above, status, revision } = link;
    return status === 'begun' ? { above, begunAt: revision } : { above };
  }

  async function show(user: ReferralPlace, context: CommandContext): Promise<Referral> {
    const stream = referralStreamOf(user);
    return (await handler.execute(referral, stream, { type: 'ShowReferral' }, context)).answer;
  }
}

function outcomeOf({ link }: Referral, code: string, appended: readonly StreamEvent[]): Outcome<Attribution> {
  // Dropped; the link of a later request may have been begun since.
  if (link?.status !== 'attributed') return refused('cycle');
  const { referrerUserId } = link;
  if (isSameCode(link.code, code)) {
    return { answer: attributedBy(referrerUserId), replayed: appended.length === 0, appended };
  }
  return {
    answer: { attributed: false, reason: 'already_attributed', referrerUserId },
    replayed: false,
    appended: [],
  };
}

const attributedBy = (referrerUserId: string): Attribution => ({ attributed: true, referrerUserId });

const refused = (reason: 'unknown_code' | 'self' | 'cycle'): Outcome<Attribution> => ({
  answer: { attributed: false, reason },
  replayed: false,
  appended: [],
});
