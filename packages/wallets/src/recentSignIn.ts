/** What a token stolen long after the sign-in must not do. Source: contract, Apps (step-up settings). */
import type { SessionCaller } from '@coffer/http';
import { type Clock, Rejection } from '@coffer/kernel';

type SignedIn = Pick<SessionCaller, 'authenticatedAt'>;

export const isRecent = ({ authenticatedAt }: SignedIn, seconds: number, clock: Clock): boolean =>
  clock().getTime() - new Date(authenticatedAt).getTime() <= seconds * 1000;

/** Throws `auth/reauthentication_required` if the sign-in is older. */
export function requireRecent(caller: SignedIn, seconds: number | 'off', clock: Clock): void {
  if (seconds !== 'off' && !isRecent(caller, seconds, clock)) throw reauthenticationRequired(seconds);
}

export const reauthenticationRequired = (maxAgeSeconds: number): Rejection =>
  new Rejection('auth/reauthentication_required', { maxAgeSeconds });
