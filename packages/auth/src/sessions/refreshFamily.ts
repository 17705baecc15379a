/**
 * The refresh tokens of one sign-in, each the successor of the one before. A predecessor stays valid until its
 * successor is first used, and 30 s after that, and always gives the same successor: a client that never got the
 * answer, or asks a hundred times at once, stays signed in. Used later than that, somebody else has it: the
 * family ends. Source: contract, Sign-in and sessions; ADR 0017.
 */
import assert from 'node:assert/strict';
import type { AppPlace } from '@coffer/kernel';
import type { AuthMethod } from '../types.ts';
import { FAMILY_LIFETIME_MS, REFRESH_GRACE_MS, REFRESH_TOKEN_LIFETIME_MS } from './lifetimes.ts';

/** Why a session is over: signed out, a refresh token used twice, or everything of the user at once. */
export type EndReason = 'logout' | 'reuse' | 'user';

export interface Session {
  readonly sessionId: string;
  readonly place: AppPlace;
  readonly userId: string;
  readonly authMethod: AuthMethod;
  readonly signedInAt: Date;
  /** Of the newest refresh token. */
  readonly generation: number;
  /** Of the generations just before it, in order. */
  readonly firstUses: readonly FirstUses[];
  readonly endedBecause: EndReason | undefined;
}

/**
 * So many generations, one after the other, were first used in the same second, the last of them at this time. A
 * second is as exact as the end of a token, and one grace has so few of them that nothing needs to be left out.
 */
interface FirstUses {
  readonly at: Date;
  readonly count: number;
}

/**
 * What a genuine refresh token is to its family now.
 *
 *  newest      used now for the first time: the next one follows from it
 *  repeatable  its successor is given once more: nobody has used that yet, or not for longer than the grace
 *  spent       its successor was used before that: somebody else has one of the two, and the family ends
 *  void        its family has ended, and stays so; or it is of a generation yet to come, as the database was put back
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

/** The one step that an open family takes, as often as its newest token is used: to its next generation, still open. */
export function assertRotated(session: Session, from: number): void {
  assert(!session.endedBecause, `${session.sessionId} was rotated after its end`);
  assert.equal(session.generation, from + 1, `${session.sessionId} was rotated past its next generation`);
}

/** Whole seconds: 7 days from when the generation came to be, and never past the family's 30 days. */
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
