/** Users of a scope: registration and standing. Who they are and whether they may sign in is up to `auth`. */
import { defineContext, type Platform, someStream } from '@coffer/host';
import type { AppDirectory } from '@coffer/portal';
import { user } from './domain/user.ts';
import { usersErrors } from './errors.ts';
import { operatorUserEndpoints } from './operatorRoutes.ts';
import { createUsers } from './users.ts';

export interface UsersNeeds extends Platform {
  readonly directory: AppDirectory;
}

export const usersContext = defineContext({
  name: 'users',
  errors: usersErrors,
  streams: [someStream(user)],
  create({ handler, store, clock, directory }: UsersNeeds) {
    const users = createUsers({ handler, store, clock });
    return { provides: { users }, endpoints: operatorUserEndpoints({ directory, users }) };
  },
});
