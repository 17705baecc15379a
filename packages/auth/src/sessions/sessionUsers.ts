/** The current user of a session: what a session may do does not depend on itself alone. */

import type { Deadline } from '@coffer/event-store';
import { type AppPlace, createCoalescingCache } from '@coffer/kernel';
import type { Standing } from '@coffer/users';
import { z } from 'zod';
import type { UserView } from '../types.ts';

interface ViewedUser {
  readonly user: UserView;
  readonly standing: Standing;
}

/** Undefined if the place has no such user. */
export type ViewUser = (
  place: AppPlace,
  userId: string,
  deadline: Deadline,
) => Promise<ViewedUser | undefined>;

/**
 * In addition to the age of what is known of the session and of the calling key: together they still show a
 * suspension in less than a second.
 */
const MAX_AGE_MS = 250;
const MAX_REMEMBERED_USERS = 10_000;
/** A view that several callers wait for belongs to no single request. */
const VIEW_TIMEOUT_MS = 5_000;

export interface SessionUsers {
  /** At most a fraction of a second old; undefined unless the user is active. */
  readonly active: (place: AppPlace, userId: string) => Promise<UserView | undefined>;
}

export function createSessionUsers(view: ViewUser, nowMs: () => number): SessionUsers {
  const users = createCoalescingCache({
    load: (key) => {
      const { place, userId } = keySchema.parse(JSON.parse(key));
      return view(place, userId, { deadlineMs: performance.now() + VIEW_TIMEOUT_MS });
    },
    lifetimeMs: MAX_AGE_MS,
    maximumEntries: MAX_REMEMBERED_USERS,
    nowMs,
  });
  return {
    active: async ({ appId, scopeId, environment }, userId) => {
      const key = JSON.stringify({ place: { appId, scopeId, environment }, userId });
      const found = await users.get(key);
      if (found?.standing === 'active') return found.user;
      // Not cached: a reinstated user who signs in again is let in at once.
      users.forget(key);
      return undefined;
    },
  };
}

const keySchema = z.strictObject({
  place: z.strictObject({
    appId: z.string(),
    scopeId: z.string(),
    environment: z.enum(['test', 'live']),
  }),
  userId: z.string(),
});
