/**
 * Stored facts. These names and shapes are on disk for ever.
 * An identity belongs to a scope: every app of the scope finds the same user behind it. Events hold no personal
 * data: they carry a keyed hash of the identity, and the person's details are kept outside the log.
 */
import { type EventIn, eventCodec } from '@coffer/kernel';
import { z } from 'zod';

export const identityEvents = eventCodec({
  /** The first sign-in: the user, its registration and its first wallet all follow from this event. */
  IdentityClaimed: {
    data: z.object({
      userId: z.string(),
      identityId: z.string(),
      type: z.enum(['wallet', 'messenger', 'email']),
      identityHash: z.string(),
      /** The app through which the user came. */
      appId: z.string(),
      referralCode: z.string().optional(),
      gameKey: z.string().optional(),
      claimedAt: z.iso.datetime(),
    }),
  },
  /** The first sign-in through another app of the scope, or the first that brought a referral code to an app. */
  FirstTouched: {
    data: z.object({
      userId: z.string(),
      appId: z.string(),
      referralCode: z.string().optional(),
      gameKey: z.string().optional(),
      touchedAt: z.iso.datetime(),
    }),
  },
  /** The user was erased: the next sign-in claims the identity for a new one. */
  IdentityReleased: {
    data: z.object({ userId: z.string(), identityId: z.string(), releasedAt: z.iso.datetime() }),
  },
});

export type IdentityEvent = EventIn<typeof identityEvents>;
