/** Stored facts. These names and shapes are on disk for ever. */
import { type EventIn, eventCodec, figure } from '@coffer/kernel';
import { z } from 'zod';

export const earningsEvents = eventCodec({
  /** The house owes it from now on. */
  EarningsAccrued: {
    data: z.object({
      idemKey: z.string(),
      kind: z.enum(['payout', 'distribution']),
      amount: figure,
      level: z.int().optional(),
      sourceUserId: z.string().optional(),
      memo: z.string().optional(),
      /** Of the commission's parts: it follows all others. */
      isLast: z.literal(true).optional(),
      /** What can be withdrawn after it, from which a repeat gets the first answer. */
      balance: figure,
    }),
  },
  /** Set aside; the player's account is credited next. */
  EarningsWithdrawn: {
    data: z.object({
      idemKey: z.string(),
      /** Left out where all was asked for. */
      requested: figure.optional(),
      amount: figure,
      balance: figure,
    }),
  },
  /** The key belongs to another operation: nothing was withdrawn. */
  WithdrawalReturned: { data: z.object({ idemKey: z.string(), amount: figure }) },
});

export type EarningsEvent = EventIn<typeof earningsEvents>;
