/** Stored facts. These names and shapes are on disk for ever. */
import { type EventIn, eventCodec } from '@coffer/kernel';
import { z } from 'zod';

export const referralCodeEvents = eventCodec({
  CodeClaimed: { data: z.object({ code: z.string(), userId: z.string() }) },
  CodeReleased: { data: z.object({ userId: z.string() }) },
});

export type ReferralCodeEvent = EventIn<typeof referralCodeEvents>;
