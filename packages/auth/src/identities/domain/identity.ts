/**
 * Which user an identity belongs to. The stream is named by the identity's keyed hash, and only one writer can append
 * its first event, so two simultaneous first sign-ins yield one user. Source: contract, Sign-in and sessions.
 */
import assert from 'node:assert/strict';
import { type Decision, type Environment, idFromParts, type StreamType, streamName } from '@coffer/kernel';
import { type IdentityEvent, identityEvents } from './identity.events.ts';

type IdentityType = 'wallet' | 'messenger' | 'email';

/** Kept for referrals. */
export interface Touch {
  readonly referralCode?: string | undefined;
  readonly gameKey?: string | undefined;
}

/** The position of an identity with respect to one user. */
export interface IdentityPlace {
  readonly environment: Environment;
  readonly scopeId: string;
  /** Keyed hash of environment, scope, type and external id: 64 hexadecimal digits. */
  readonly identityHash: string;
}

export const identityStreamName = ({ environment, scopeId, identityHash }: IdentityPlace): string =>
  streamName('identity', environment, scopeId, identityHash);

export interface Claim {
  readonly userId: string;
  readonly identityId: string;
  readonly type: IdentityType;
  /** The app through which the user came. */
  readonly appId: string;
  readonly claimedAt: string;
  /** From the event that claimed the identity. */
  readonly revision: number;
}

/** Whose the identity is, with the referral code that the user's first touch of the app brought. */
interface TouchedClaim extends Claim {
  readonly referralCode?: string;
}

export interface IdentityState {
  /** How often the identity has been claimed, each time by another user. */
  readonly claims: number;
  /** Undefined before the first sign-in and after a release. */
  readonly claim: Claim | undefined;
  /** By app: the referral code that its first touch brought. */
  readonly touched: ReadonlyMap<string, string | undefined>;
  /** The number of events. */
  readonly length: number;
}

export type IdentityCommand =
  | {
      readonly type: 'ClaimIdentity';
      readonly place: IdentityPlace;
      readonly identityType: IdentityType;
      readonly appId: string;
      readonly firstTouch: Touch;
      /** ISO 8601. */
      readonly at: string;
    }
  | {
      readonly type: 'ReleaseIdentity';
      readonly userId: string;
      /** ISO 8601: when the user was erased. */
      readonly at: string;
    };

/** The current owner of the identity; undefined if there is none. */
export type IdentityAnswer = TouchedClaim | undefined;

type ClaimIdentity = Extract<IdentityCommand, { type: 'ClaimIdentity' }>;

function decide(state: IdentityState, command: IdentityCommand): Decision<IdentityEvent, IdentityAnswer> {
  if (command.type === 'ClaimIdentity') {
    return state.claim ? touch(state, state.claim, command) : claim(state, command);
  }
  // Already released, or since claimed by another user, in which case this user cannot release it.
  if (state.claim?.userId !== command.userId) return { events: [], answer: state.claim };
  const { userId, identityId } = state.claim;
  return {
    events: [{ type: 'IdentityReleased', data: { userId, identityId, releasedAt: command.at } }],
    answer: undefined,
  };
}

function claim(
  state: IdentityState,
  { place, identityType, appId, firstTouch, at }: ClaimIdentity,
): Decision<IdentityEvent, IdentityAnswer> {
  // All ids are derived from the claim's number, so whoever completes the claim creates the same user.
  const parts = ['identity', place.environment, place.scopeId, place.identityHash, String(state.claims + 1)];
  const claimed = {
    userId: idFromParts('usr', ...parts),
    identityId: idFromParts('idn', ...parts),
    type: identityType,
  };
  const { identityHash } = place;
  return {
    events: [
      {
        type: 'IdentityClaimed',
        data: { ...claimed, identityHash, appId, ...known(firstTouch), claimedAt: at },
      },
    ],
    answer: { ...claimed, appId, claimedAt: at, revision: state.length, ...codeOf(firstTouch) },
  };
}

/** A sign-in by a known user: only its referral data for this app can be new. */
function touch(
  { touched }: IdentityState,
  current: Claim,
  { appId, firstTouch, at }: ClaimIdentity,
): Decision<IdentityEvent, IdentityAnswer> {
  const broughtCode = touched.get(appId);
  const isNews = !touched.has(appId) || (broughtCode === undefined && firstTouch.referralCode !== undefined);
  if (!isNews) {
    const answer = { ...current, ...codeOf({ referralCode: broughtCode }) };
    // A release revokes the answer, so it is never given from memory alone.
    return { events: [], answer, replayed: true, revocable: true };
  }
  const { userId } = current;
  return {
    events: [{ type: 'FirstTouched', data: { userId, appId, ...known(firstTouch), touchedAt: at } }],
    answer: { ...current, ...codeOf(firstTouch) },
  };
}

const codeOf = ({ referralCode }: Touch) => (referralCode === undefined ? {} : { referralCode });

const known = ({ referralCode, gameKey }: Touch) => ({
  ...codeOf({ referralCode }),
  ...(gameKey !== undefined && { gameKey }),
});

function evolve(state: IdentityState, event: IdentityEvent): IdentityState {
  const length = state.length + 1;
  switch (event.type) {
    case 'IdentityClaimed': {
      assert(!state.claim, 'an identity is one user’s at a time');
      const { userId, identityId, type, appId, claimedAt, referralCode } = event.data;
      return {
        claims: state.claims + 1,
        claim: { userId, identityId, type, appId, claimedAt, revision: state.length },
        touched: new Map([[appId, referralCode]]),
        length,
      };
    }
    case 'FirstTouched': {
      const { userId, appId, referralCode } = event.data;
      assert(state.claim?.userId === userId, 'a touch is of the user who has the identity');
      return { ...state, touched: new Map([...state.touched, [appId, referralCode]]), length };
    }
    case 'IdentityReleased':
      assert(state.claim?.userId === event.data.userId, 'an identity is released by the user who has it');
      return { ...state, claim: undefined, touched: new Map(), length };
  }
}

export const identity: StreamType<IdentityCommand, IdentityEvent, IdentityState, IdentityAnswer> = {
  category: 'identity',
  version: 1,
  codec: identityEvents,
  initialState: { claims: 0, claim: undefined, touched: new Map(), length: 0 },
  decide,
  evolve,
  sizeOf: ({ touched }) => 500 + 120 * touched.size,
};
