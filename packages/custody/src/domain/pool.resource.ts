/**
 * Pools and their stakes as callers see them. Money is bigint here, and text in requests and bodies. A body never
 * changes: a repeat years later is answered with the very same bytes. Source: contract, Custody.
 */
import { figure } from '@coffer/kernel';
import { z } from 'zod';

/** The most stakes in a pool, released ones included: as many as one event can settle. */
export const MAX_STAKES = 20_000;

const timestamp = z.iso.datetime({ precision: 3 }).meta({ description: 'ISO 8601 UTC with milliseconds.' });

// Answers

const stake = {
  poolId: z.string(),
  betId: z.string(),
  userId: z.string(),
  currency: z.int(),
  amount: figure,
};

export const lockedStake = z.object({
  ...stake,
  status: z.literal('locked'),
  confirmBy: timestamp.meta({
    description: 'From then on the stake may be released unless it is confirmed.',
  }),
});
export const confirmedStake = z.object({ ...stake, status: z.literal('confirmed') });

export const settledPool = z.object({
  poolId: z.string(),
  status: z.literal('settled'),
  staked: figure.meta({ description: 'The confirmed stakes: rake and paid together.' }),
  rake: figure,
  paid: figure,
  payouts: z
    .array(z.object({ betId: z.string(), userId: z.string(), payout: figure }))
    .meta({ description: 'As in the first request.' }),
  released: z
    .array(z.string())
    .meta({ description: 'Bets that were not confirmed: their stakes are given back.' }),
});

export const refundedPool = z.object({
  poolId: z.string(),
  status: z.literal('refunded'),
  refunds: z.array(z.object({ betId: z.string(), userId: z.string(), amount: figure })),
});
