/** Stored facts. These names and shapes are on disk for ever. */
import { type EventIn, eventCodec } from '@coffer/kernel';
import { z } from 'zod';

export const skipEvents = eventCodec({
  /** A consumer that cannot process the named event skips it, here and wherever the log is read again. */
  EventSkipped: {
    data: z.object({
      consumer: z.string(),
      eventId: z.string(),
      stream: z.string(),
      revision: z.int().nonnegative(),
      eventType: z.string(),
      reason: z.string(),
      skippedAt: z.iso.datetime(),
    }),
  },
});

export type SkipEvent = EventIn<typeof skipEvents>;
