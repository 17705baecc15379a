/**
 * Stored facts. These names and shapes are on disk for ever.
 * A user belongs to a scope: every app of the scope sees the same user. No event holds personal data.
 */
import { type EventIn, eventCodec } from '@coffer/kernel';
import { z } from 'zod';

export const complianceDecision = z.enum(['passed', 'failed', 'review_required']);
export type ComplianceDecision = z.infer<typeof complianceDecision>;

export const userEvents = eventCodec({
  UserRegistered: {
    data: z.object({
      userId: z.string(),
      /** The app through which the user came. */
      appId: z.string(),
      registeredAt: z.iso.datetime(),
    }),
  },
  /** Written with the registration of a user who came by signing in. */
  IdentityLinked: {
    data: z.object({
      identityId: z.string(),
      type: z.enum(['wallet', 'messenger', 'email']),
      /** Keyed hash of the identity; who it belongs to is kept outside the log. */
      identityHash: z.string(),
      linkedAt: z.iso.datetime(),
    }),
  },
  UserSuspended: { data: z.object({ reason: z.string().optional() }) },
  UserReinstated: { data: z.object({}) },
  /** What a check of the user has found. It does not change the standing: that is up to whoever reads it. */
  ComplianceDecided: {
    data: z.object({ decision: complianceDecision, reason: z.string().optional() }),
  },
  /** The last event of a user. What is known of the person is destroyed, and the identities become free. */
  UserErased: {
    data: z.object({
      erasedAt: z.iso.datetime(),
      identities: z.array(z.object({ identityId: z.string(), identityHash: z.string() })),
    }),
  },
});

export type UserEvent = EventIn<typeof userEvents>;
