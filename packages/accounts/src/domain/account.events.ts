/** Stored facts. These names and shapes are on disk for ever. */
import { type EventIn, eventCodec, figure } from '@coffer/kernel';
import { z } from 'zod';
import { entryId, holdId, holdPurpose } from './accountIds.ts';

export const entryReason = z.enum(['deposit', 'adjustment', 'earnings', 'rollback']);
export type EntryReason = z.infer<typeof entryReason>;

const entry = z.object({
  entryId,
  amount: figure,
  reason: entryReason,
  /** The operator's own words. */
  note: z.string().optional(),
  /** The balances after the entry, from which a repeat gets the first answer. */
  available: figure,
  held: figure,
});

export const accountEvents = eventCodec({
  AccountCredited: { data: entry },
  AccountDebited: { data: entry },
  FundsHeld: {
    data: z.object({
      holdId,
      amount: figure,
      purpose: holdPurpose,
      /** The whole command that the hold is for, so that it can be carried out after a crash. */
      request: z.record(z.string(), z.string()),
    }),
  },
  HoldClosed: {
    data: z.object({
      holdId,
      held: figure,
      /** What became available; the difference from the amount is the other side's result. */
      payout: figure,
    }),
  },
});

export type AccountEvent = EventIn<typeof accountEvents>;
export type HoldOrder = Extract<AccountEvent, { type: 'FundsHeld' }>['data'];
