/** The outcome of a proved identity: its user, found or created, and an open session. */
import { Rejection } from '@coffer/kernel';
import type { Identities } from './identities/index.ts';
import type { SignIn } from './methods/index.ts';
import type { Sessions } from './sessions/index.ts';

/** The codes that it may throw, in addition to the common ones. */
export const SIGN_IN_ERRORS = ['auth/user_suspended', 'wallets/keys_unavailable'];

export function createSignIn({
  identities,
  sessions,
}: {
  readonly identities: Pick<Identities, 'resolve'>;
  readonly sessions: Pick<Sessions, 'open'>;
}): SignIn {
  return async (place, identity, authMethod, firstTouch, context) => {
    const { user, standing } = await identities.resolve(place, identity, firstTouch, context);
    if (standing !== 'active') throw new Rejection('auth/user_suspended');
    const session = await sessions.open(place, user.id, authMethod);
    return { ...session, user: { ...user, identities: [...user.identities], wallets: [...user.wallets] } };
  };
}
