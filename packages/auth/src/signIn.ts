/** The outcome of a proved identity: its user, found or created, and an open session. */
import type { CommandContext } from '@coffer/event-store';
import { type AppPlace, Rejection } from '@coffer/kernel';
import type { Identities } from './identities/index.ts';
import type { SignIn } from './methods/index.ts';
import type { Sessions } from './sessions/index.ts';

/** The codes that it may throw, in addition to the common ones. */
export const SIGN_IN_ERRORS = ['auth/user_suspended', 'wallets/keys_unavailable'];

/** Attributes a user to the owner of the first of these codes that counts; does nothing where none does. */
export type AttributeByCodes = (
  place: AppPlace,
  userId: string,
  codes: readonly string[],
  context: CommandContext,
) => Promise<void>;

export function createSignIn({
  identities,
  sessions,
  attributeByCodes,
}: {
  readonly identities: Pick<Identities, 'resolve'>;
  readonly sessions: Pick<Sessions, 'open'>;
  /** Undefined in an installation without referrals. */
  readonly attributeByCodes: AttributeByCodes | undefined;
}): SignIn {
  return async (place, identity, authMethod, firstTouch, context) => {
    const { user, standing, referralCodes } = await identities.resolve(place, identity, firstTouch, context);
    if (standing !== 'active') throw new Rejection('auth/user_suspended');
    // Before the answer: a sign-in that died here is followed by another, which knows the code of the first touch.
    if (referralCodes.length > 0) await attributeByCodes?.(place, user.id, referralCodes, context);
    const session = await sessions.open(place, user.id, authMethod);
    return { ...session, user: { ...user, identities: [...user.identities], wallets: [...user.wallets] } };
  };
}
