/** Stored facts. These names and shapes are on disk for ever. */
import { type EventIn, eventCodec } from '@coffer/kernel';
import { z } from 'zod';

const link = z.object({
  referrerUserId: z.string(),
  /** As the referrer's code is written. */
  code: z.string(),
});

export const referralEvents = eventCodec({
  CodeIssued: { data: z.object({ code: z.string() }) },
  /** From now on others count with this link, although it may yet be dropped. */
  AttributionBegun: { data: link },
  UserAttributed: { data: link },
  /** The link would have closed a circle. */
  AttributionDropped: { data: z.object({ referrerUserId: z.string() }) },
});

export type ReferralEvent = EventIn<typeof referralEvents>;
