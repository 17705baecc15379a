/**
 * Pools and their stakes as callers see them. Money is bigint here, and text in requests and bodies. A body never
 * changes: a repeat years later is answered with the very same bytes. Source: contract, Custody.
 */
import {
  amount,
  callerId,
  currencyQuery,
  figure,
  idText,
  pageCursor,
  pageSize,
  positiveAmount,
  timestamp,
  trimmedText,
} from '@coffer/kernel';
import { z } from 'zod';

/** The most stakes in a pool, released ones included: as many as one event can settle. */
export const MAX_STAKES = 20_000;

const poolId = callerId.meta({
  description: 'Your id for the pool. The first stake opens it.',
  example: 'round-1',
});
const betId = callerId.meta({
  description:
    'Your id for the bet, unique in its pool. A repeat gets the same answer; other content under the same id is refused.',
  example: 'bet-1',
});
const userId = idText('usr').meta({ description: 'The player.' });
const currency = z.int().meta({ description: "The id of one of the app's currencies.", example: 1 });
const stakeAmount = positiveAmount.meta({
  description: 'Base units, as a decimal string, at least "1".',
  example: '100000',
});
const rake = amount.meta({
  description: 'What the house keeps. Base units, as a decimal string; "0" is allowed.',
  example: '15000',
});

// Requests

export const lockBody = z.strictObject({ poolId, betId, userId, currency, amount: stakeAmount });
export type LockRequest = Readonly<z.output<typeof lockBody>>;

export const confirmBody = z.strictObject({ poolId, betId });

const payout = z.strictObject({
  betId,
  userId,
  payout: amount.meta({
    description: 'Base units, as a decimal string; "0" is allowed, and is what a bet gets that is not named.',
    example: '285000',
  }),
});
export const settleBody = z.strictObject({
  poolId,
  currency,
  rake,
  payouts: z.array(payout).max(MAX_STAKES),
});
export type SettleRequest = Readonly<z.output<typeof settleBody>>;

export const refundBody = z.strictObject({
  poolId,
  reason: trimmedText(200).optional().meta({ description: 'Your own words, recorded with the refund.' }),
});
export type RefundRequest = Readonly<z.output<typeof refundBody>>;

export const reconcileBody = z.strictObject({
  olderThanSeconds: z
    .int()
    .min(60)
    .max(10 * 365 * 86_400)
    .optional()
    .meta({ description: 'Only stakes locked at least this long ago.', example: 3_600 }),
});

const poolStatus = z.enum(['open', 'settled', 'refunded']);
const stakeStatus = z.enum(['locked', 'confirmed', 'released', 'settled', 'refunded']);
export type StakeStatus = z.output<typeof stakeStatus>;

const paged = { limit: pageSize, cursor: pageCursor.optional() };
export const poolsQuery = z.strictObject({
  status: poolStatus.optional(),
  currency: currencyQuery.optional(),
  ...paged,
});
export type PoolsQuery = Readonly<z.output<typeof poolsQuery>>;
export const stakesQuery = z.strictObject({ status: stakeStatus.optional(), ...paged });
export type StakesQuery = Readonly<z.output<typeof stakesQuery>>;

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

export const releasedStakes = z.object({
  released: z
    .array(z.object({ poolId: z.string(), betId: z.string(), userId: z.string(), amount: figure }))
    .meta({ description: 'By this request.' }),
});

export const shownPool = z.object({
  poolId: z.string(),
  currency: z.int(),
  status: poolStatus,
  staked: figure.meta({
    description: 'What is locked and confirmed together; released stakes are left out.',
  }),
  confirmed: figure,
  locked: figure,
  credits: z
    .object({ done: z.int(), of: z.int() })
    .meta({ description: 'How many of the stakes that the end of the pool credits have been credited.' }),
});
const shownStake = z.object({
  betId: z.string(),
  userId: z.string(),
  amount: figure,
  status: stakeStatus,
  payout: figure
    .nullable()
    .meta({ description: 'Null while the pool is open, and for a stake that was released.' }),
  at: timestamp.meta({ description: 'When it was locked.' }),
});
const nextCursor = z.string().nullable();
export const poolPage = z.object({ items: z.array(shownPool), nextCursor });
export const stakePage = z.object({ items: z.array(shownStake), nextCursor });
