/** Gives the operator's admin API the users: who may no longer sign in is no longer signed in either. */
import type { Erasure, Sessions } from '@coffer/auth';
import type { Clock } from '@coffer/kernel';
import type { PortalUsers } from '@coffer/portal';
import type { Users } from '@coffer/users';
import { commandContextOf } from './commandContextOf.ts';

export function portalUsers({
  users,
  erasure,
  sessions,
  clock,
}: {
  readonly users: Users;
  readonly erasure: Pick<Erasure, 'erase'>;
  readonly sessions: Pick<Sessions, 'endAllOf'>;
  readonly clock: Clock;
}): PortalUsers {
  return {
    register: users.register,
    show: users.show,
    async suspend(place, context) {
      const suspended = await users.suspend(place, context);
      await sessions.endAllOf(place, place.userId);
      return suspended;
    },
    async reinstate(place, context) {
      // Those that a suspension has left open, because its process died, must not come back with the user.
      const { status } = await users.show(place, context);
      if (status === 'suspended') await sessions.endAllOf(place, place.userId);
      return users.reinstate(place, context);
    },
    async erase(place, context) {
      await erasure.erase(place, commandContextOf(context, clock));
      await sessions.endAllOf(place, place.userId);
    },
  };
}
