/** Stored facts. These names and shapes are on disk for ever. */
import { type EventIn, eventCodec, figure } from '@coffer/kernel';
import { z } from 'zod';

const part = z.object({
  /** 1 is the direct referrer. */
  level: z.int(),
  userId: z.string(),
  /** Of 10,000. */
  bps: z.int(),
  amount: figure,
});

export const commissionEvents = eventCodec({
  PayoutDecided: {
    data: z.object({
      idemKey: z.string(),
      /** The beneficiary. */
      userId: z.string(),
      currencyId: z.int(),
      amount: figure,
      sourceUserId: z.string().optional(),
      memo: z.string().optional(),
    }),
  },
  DistributionDecided: {
    data: z.object({
      idemKey: z.string(),
      /** Whose play earns it: level 1 is this user's referrer. */
      userId: z.string(),
      currencyId: z.int(),
      amount: figure,
      levels: z.array(z.int()),
      /** The chain as it was read, each part rounded down. */
      distributed: z.array(part),
      /** Of users who were erased: it stays with the house. */
      withheld: z.array(part),
    }),
  },
  /** The amount that was set aside belongs to this key. */
  WithdrawalDecided: {
    data: z.object({
      idemKey: z.string(),
      userId: z.string(),
      currencyId: z.int(),
      /** Left out where all was asked for. */
      requested: figure.optional(),
      amount: figure,
      balance: figure,
    }),
  },
});

export type CommissionEvent = EventIn<typeof commissionEvents>;
