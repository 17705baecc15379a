/**
 * One user as a referrer and as one who was referred, in one app and environment: the code, and who brought the user.
 * Nobody's chain of referrers may lead back to them, and no stream knows the whole chain. So:
 *
 * - Without a code nobody can have been brought by this user, and no circle can close: this stream alone decides.
 * - With a code the link is begun first, so that others see it, and attributed or dropped after a look at the chain.
 *   Of the links that would close a circle the one begun last sees all others.
 *
 * Source: contract, Referrals (attribution); ADR 0052.
 */
import assert from 'node:assert/strict';
import {
  type Decision,
  type Environment,
  parseStreamName,
  type StreamType,
  streamName,
} from '@coffer/kernel';
import { type ReferralEvent, referralEvents } from './referral.events.ts';

const CATEGORY = 'referral';

/** A user's place in the referrals of one app. */
export interface ReferralPlace {
  readonly environment: Environment;
  readonly appId: string;
  readonly userId: string;
}

export const referralStreamOf = ({ environment, appId, userId }: ReferralPlace): string =>
  streamName(CATEGORY, environment, appId, userId);

/** Whose referrals a stream holds, or undefined for any other stream. */
export function parseReferralStream(stream: string): ReferralPlace | undefined {
  const parts = parseStreamName(stream);
  if (parts?.category !== CATEGORY) return undefined;
  return { environment: parts.environment, appId: parts.owner, userId: parts.id };
}

interface Link {
  readonly referrerUserId: string;
  readonly code: string;
}

export interface Referral {
  /** Never changes once it is there. */
  readonly code: string | undefined;
  /** `begun`: to be attributed or dropped. `attributed` is final. */
  readonly link: (Link & { readonly status: 'begun' | 'attributed'; readonly revision: number }) | undefined;
  /** Of the last event; -1 before the first. */
  readonly revision: number;
}

export type ReferralCommand =
  | { readonly type: 'IssueCode'; readonly code: string }
  | ({ readonly type: 'Attribute' } & Link)
  /** Changes nothing. What can never change is answered from memory. */
  | { readonly type: 'ShowReferral' }
  /** After a look at the chain: ends the link begun at this revision. */
  | { readonly type: 'FinishAttribution'; readonly begunAt: number; readonly closesCircle: boolean };

/** The state after the command. */
export type ReferralAnswer = Referral;

function decide(referral: Referral, command: ReferralCommand): Decision<ReferralEvent, ReferralAnswer> {
  switch (command.type) {
    case 'IssueCode':
      if (referral.code !== undefined) return { events: [], answer: referral, replayed: true };
      return happens(referral, { type: 'CodeIssued', data: { code: command.code } });
    case 'Attribute': {
      if (referral.link?.status === 'attributed') return { events: [], answer: referral, replayed: true };
      if (referral.link) return { events: [], answer: referral };
      const { referrerUserId, code } = command;
      const type = referral.code === undefined ? 'UserAttributed' : 'AttributionBegun';
      return happens(referral, { type, data: { referrerUserId, code } });
    }
    case 'ShowReferral': {
      const isFinal = referral.code !== undefined && referral.link?.status === 'attributed';
      return { events: [], answer: referral, replayed: isFinal };
    }
    case 'FinishAttribution': {
      const { link } = referral;
      // Somebody else who met the link has finished it.
      if (link?.status !== 'begun' || link.revision !== command.begunAt)
        return { events: [], answer: referral };
      const { referrerUserId, code } = link;
      return happens(
        referral,
        command.closesCircle
          ? { type: 'AttributionDropped', data: { referrerUserId } }
          : { type: 'UserAttributed', data: { referrerUserId, code } },
      );
    }
  }
}

function happens(referral: Referral, event: ReferralEvent): Decision<ReferralEvent, ReferralAnswer> {
  return { events: [event], answer: evolve(referral, event) };
}

function evolve(referral: Referral, event: ReferralEvent): Referral {
  const revision = referral.revision + 1;
  switch (event.type) {
    case 'CodeIssued':
      assert(referral.code === undefined, 'a user has one code for ever');
      return { ...referral, code: event.data.code, revision };
    case 'AttributionBegun':
      assert(!referral.link, 'a user is brought once');
      return { ...referral, link: { ...event.data, status: 'begun', revision }, revision };
    case 'UserAttributed':
      assert(referral.link?.status !== 'attributed', 'a user is brought once');
      return { ...referral, link: { ...event.data, status: 'attributed', revision }, revision };
    case 'AttributionDropped':
      assert(referral.link?.status === 'begun', 'what is dropped was begun');
      return { ...referral, link: undefined, revision };
  }
}

export const referral: StreamType<ReferralCommand, ReferralEvent, Referral, ReferralAnswer> = {
  category: CATEGORY,
  version: 1,
  codec: referralEvents,
  initialState: { code: undefined, link: undefined, revision: -1 },
  decide,
  evolve,
  sizeOf: () => 600,
};
