/** Gives the identities the users context. */
import type { ErasableUsers, IdentityUsers } from '@coffer/auth';
import type { Users } from '@coffer/users';

export function identityUsers({
  find,
  registerClaimed,
  erase,
}: Pick<Users, 'find' | 'registerClaimed' | 'erase'>): IdentityUsers & ErasableUsers {
  return {
    find,
    registerClaimed,
    erase: (owner, { metadata, deadlineMs }) =>
      erase(owner, { requestId: metadata.correlationId, actor: metadata.actor, deadlineMs }),
  };
}
