/**
 * Stored facts. These names and shapes are on disk for ever.
 * A user belongs to a scope: every app of the scope sees the same user. No event holds personal data.
 */
import { type EventIn, eventCodec } from '@coffer/kernel';
import { z } from 'zod';

export const userEvents = eventCodec({
  UserRegistered: {
    data: z.object({
      userId: z.string(),
      /** The app through which the user came. */
      appId: z.string(),
      registeredAt: z.iso.datetime(),
    }),
  },
  UserSuspended: { data: z.object({ reason: z.string().optional() }) },
  UserReinstated: { data: z.object({}) },
});

export type UserEvent = EventIn<typeof userEvents>;
