/**
 * The refresh tokens of one sign-in, each the successor of the one before. A predecessor stays valid until 30 s
 * after its successor is first used, and always yields the same successor: a client that never got the answer, or
 * sends a hundred requests at once, stays signed in. If it is used later, somebody else has it, and the family
 * ends. Source: contract, Sign-in and sessions; ADR 0017.
 */
import assert from 'node:assert/strict';
import type { AppPlace } from '@coffer/kernel';
import type { AuthMethod } from '../types.ts';
import { FAMILY_LIFETIME_MS, REFRESH_GRACE_MS, REFRESH_TOKEN_LIFETIME_MS } from './lifetimes.ts';

/** Why a session is over: signed out, a refresh token reused, or all sessions of the user ended at once. */
export type EndReason = 'logout' | 'reuse' | 'user';

export interface Session {
  readonly sessionId: string;
  readonly place: AppPlace;
  readonly userId: string;
  readonly authMethod: AuthMethod;
  readonly signedInAt: Date;
  /** The generation of the newest refresh token. */
  readonly generation: number;
  /** First uses of the generations just before it, in order. */
  readonly firstUses: readonly FirstUses[];
  readonly endedBecause: EndReason | undefined;
}

/**
 * How many consecutive generations were first used in the same second, the last of them at this time. Seconds
 * are as precise as a token's expiry, and a grace has so few of them that nothing needs to be left out.
 */
interface FirstUses {
  readonly at: Date;
  readonly count: number;
}

/**
 * What a genuine refresh token currently is to its family.
 *
 *  newest      used for the first time: its successor is created
 *  repeatable  its successor is returned again: that is unused, or has been used for no longer than the grace
 *  spent       its successor was used before that: somebody else has one of the two, and the family ends
 *  void        its family has ended, permanently; or its generation does not exist yet: the database was restored
 */
export type TokenState = 'newest' | 'repeatable' | 'spent' | 'void';

export function tokenStateOf(session: Session, generation: number, now: Date): TokenState {
  if (session.endedBecause || generation > session.generation) return 'void';
  if (generation === session.generation) return 'newest';

  const successor = generation + 1;
  if (successor === session.generation) return 'repeatable';
  const successorUsedAt = firstUseOf(session, successor);
  const isInGrace = successorUsedAt && now.getTime() - successorUsedAt.getTime() <= REFRESH_GRACE_MS;
  return isInGrace ? 'repeatable' : 'spent';
}

/** The only step of an open family, each time its newest token is used: to its next generation, still open. */
export function assertRotated(session: Session, from: number): void {
  assert(!session.endedBecause, `${session.sessionId} was rotated after its end`);
  assert.equal(session.generation, from + 1, `${session.sessionId} was rotated past its next generation`);
}

/** Whole seconds: 7 days from when the generation was created, and never past the family's 30 days. */
export function expiryOf(session: Session, generation: number): number {
  const bornAt = generation === 0 ? session.signedInAt : firstUseOf(session, generation - 1);
  if (!bornAt) throw new Error(`Generation ${generation} of ${session.sessionId} is not remembered.`);
  const endsAtMs = Math.min(bornAt.getTime() + REFRESH_TOKEN_LIFETIME_MS, familyEndMs(session));
  return Math.floor(endsAtMs / 1000);
}

export const familyEndMs = ({ signedInAt }: Session): number => signedInAt.getTime() + FAMILY_LIFETIME_MS;

function firstUseOf({ generation, firstUses }: Session, wanted: number): Date | undefined {
  let first = generation;
  if (wanted >= first) return undefined;
  return firstUses.findLast(({ count }) => {
    first -= count;
    return wanted >= first;
  })?.at;
}
