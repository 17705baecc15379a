/**
 * Whose a referral code is, per app and environment and without regard to case. The stream is named by the code, so
 * only one user can claim it. Source: contract, Referrals (codes).
 */
import assert from 'node:assert/strict';
import { type Decision, type Environment, type StreamType, streamName } from '@coffer/kernel';
import { type ReferralCodeEvent, referralCodeEvents } from './referralCode.events.ts';

const CATEGORY = 'referralCode';

export const referralCodeStreamOf = (place: {
  readonly environment: Environment;
  readonly appId: string;
  readonly code: string;
}): string => streamName(CATEGORY, place.environment, place.appId, foldedCode(place.code));

/** Two codes with the same folded form are the same code. */
export const foldedCode = (code: string): string => code.toLowerCase();

interface CodeClaim {
  /** As its owner wrote it. */
  readonly code: string;
  readonly userId: string;
}

export interface ReferralCode {
  /** The owner's; undefined for a free code. */
  readonly claim: (CodeClaim & { readonly revision: number }) | undefined;
  /** Of the last event; -1 before the first. */
  readonly revision: number;
}

/** The state after the command. */
export type ReferralCodeAnswer = ReferralCode;

export type ReferralCodeCommand =
  | ({ readonly type: 'ClaimCode' } & CodeClaim)
  /** The user was issued another code meanwhile. */
  | { readonly type: 'ReleaseCode'; readonly userId: string };

function decide(
  state: ReferralCode,
  command: ReferralCodeCommand,
): Decision<ReferralCodeEvent, ReferralCodeAnswer> {
  const { claim } = state;
  const { userId } = command;
  switch (command.type) {
    case 'ClaimCode':
      if (claim) return { events: [], answer: state };
      return happens(state, { type: 'CodeClaimed', data: { code: command.code, userId } });
    case 'ReleaseCode':
      if (claim?.userId !== userId) return { events: [], answer: state };
      return happens(state, { type: 'CodeReleased', data: { userId } });
  }
}

function happens(
  state: ReferralCode,
  event: ReferralCodeEvent,
): Decision<ReferralCodeEvent, ReferralCodeAnswer> {
  return { events: [event], answer: evolve(state, event) };
}

function evolve({ claim, revision: last }: ReferralCode, event: ReferralCodeEvent): ReferralCode {
  const revision = last + 1;
  switch (event.type) {
    case 'CodeClaimed':
      assert(!claim, 'a code is one user’s at a time');
      return { claim: { ...event.data, revision }, revision };
    case 'CodeReleased':
      assert.equal(claim?.userId, event.data.userId, 'a code is released by the user who has it');
      return { claim: undefined, revision };
  }
}

export const referralCode: StreamType<
  ReferralCodeCommand,
  ReferralCodeEvent,
  ReferralCode,
  ReferralCodeAnswer
> = {
  category: CATEGORY,
  version: 1,
  codec: referralCodeEvents,
  initialState: { claim: undefined, revision: -1 },
  decide,
  evolve,
  sizeOf: () => 300,
};
