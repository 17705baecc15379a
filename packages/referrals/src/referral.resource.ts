/** Requests and answers of the referrals group: money is bigint here and text outside. Source: docs/referrals.md. */
import {
  amount,
  boundedText,
  currencyQuery,
  DEFAULT_PAGE_SIZE,
  encoderOf,
  figure,
  idText,
  longCallerId,
  MAX_PAGE_SIZE,
  pageCursor,
  pageSize,
  positiveAmount,
  timestamp,
} from '@coffer/kernel';
import { z } from 'zod';

const userId = idText('usr').meta({ description: 'The player.' });
const currency = z.int().meta({ description: "The id of one of the app's currencies.", example: 1 });
const idemKey = longCallerId.meta({
  description:
    'Your id for this operation, unique across payouts, distributions and withdrawals. A repeat gets the same answer; other content under the same id is refused.',
  example: 'round-8812',
});
const moved = positiveAmount.meta({ description: 'Base units, as a decimal string, at least "1".' });

const MAX_CODE_LENGTH = 64;
/** Any text may be looked up; only a code of the right form is ever found. */
const someCode = z.string().min(1).max(MAX_CODE_LENGTH).meta({ example: 'QUOKKA77' });
const CODE_FORM = /^[A-Za-z0-9][A-Za-z0-9_-]{2,31}$/;
const chosenCode = z
  .string()
  .regex(CODE_FORM, 'must be 3 to 32 letters, digits, "_" or "-", and begin with a letter or a digit')
  .meta({ example: 'QUOKKA77' });
/** As it was chosen or made. */
const code = z.string().meta({ example: 'QUOKKA77' });

const bps = z.int().min(1).max(10_000);
const MAX_DEPTH = 10;

export const codeRequest = z.strictObject({ userId: z.string(), code: chosenCode.optional() });
export const codeAnswer = z.object({ userId, code });

export const attributeRequest = z.strictObject({ userId: z.string(), code: someCode });
export const attributeSelfRequest = z.strictObject({ code: someCode });
export const attribution = z.object({
  attributed: z.boolean(),
  referrerUserId: userId.optional(),
  reason: z.enum(['unknown_code', 'self', 'already_attributed', 'cycle']).optional(),
});

export const chainRequest = z.strictObject({
  userId: z.string(),
  depth: z.int().min(1).max(MAX_DEPTH).default(MAX_DEPTH),
});
export const chain = z.object({
  userId,
  chain: z.array(
    z.object({
      level: z.int().meta({ description: '1 is the direct referrer.' }),
      userId,
      code: code.nullable().meta({ description: 'Null for a user who was erased.' }),
    }),
  ),
});

const figures = { accrued: figure, withdrawn: figure, balance: figure };
export const balanceRequest = z.strictObject({ userId: z.string(), currency });
export const balance = z.object({ userId, currency, ...figures });
export const balanceBody = encoderOf(balance);

const referrer = z
  .object({ userId, code: code.nullable().meta({ description: 'Null for a user who was erased.' }) })
  .nullable();
const balances = z
  .array(z.object({ currency, ...figures }))
  .meta({ description: 'In the currencies in which the user has earned anything.' });
export const ownReferrals = z.object({ code, referrer, balances });
export const ownReferralsBody = encoderOf(ownReferrals);

export const shareLinks = z.object({
  code,
  links: z.record(z.string(), z.string()).meta({ description: 'By platform.' }),
});

export const payoutRequest = z.strictObject({
  idemKey,
  userId: z.string().meta({ description: 'The beneficiary.' }),
  currency,
  amount: moved,
  sourceUserId: z.string().optional().meta({ description: 'Whose play earned it.' }),
  memo: boundedText(200).optional(),
});
export const distributeRequest = z.strictObject({
  idemKey,
  userId: z.string().meta({ description: 'Whose play earned it: level 1 is the referrer of this player.' }),
  currency,
  amount: moved,
  levels: z
    .array(bps)
    .min(1)
    .max(MAX_DEPTH)
    .refine((levels) => levels.reduce((sum, one) => sum + one, 0) <= 10_000, {
      message: 'must have a sum of at most 10000',
    })
    .meta({ description: 'The share of each level, in hundredths of a percent.', example: [500, 200, 100] }),
});
export const withdrawRequest = z.strictObject({
  userId: z.string(),
  currency,
  amount: moved.optional().meta({ description: 'Everything there is if left out.' }),
  idemKey,
});

const part = z.object({ level: z.int(), userId, bps, amount });
export const booked = z.object({ idemKey, userId, currency, amount, balance: figure });
export const bookedBody = encoderOf(booked);
export const distribution = z.object({
  idemKey,
  distributed: z.array(part),
  remainder: amount.meta({ description: 'Stays with the house.' }),
  withheld: z.array(part).meta({ description: 'Of users who were erased; within the remainder.' }),
});
export const distributionBody = encoderOf(distribution);

const nextCursor = z.string().nullable();
export const refereesQuery = z.strictObject({ limit: pageSize, cursor: pageCursor.optional() });
export type RefereesQuery = Readonly<z.output<typeof refereesQuery>>;
export const userReferrals = z.object({
  userId,
  code: code.nullable().meta({ description: 'Null for a user without one, and one who was erased.' }),
  referrer,
  attributedAt: timestamp.nullable(),
  referees: z
    .array(z.object({ userId, attributedAt: timestamp }))
    .meta({ description: 'Whom the user brought; the last one comes first.' }),
  nextCursor,
  balances,
});
export const userReferralsBody = encoderOf(userReferrals);

export const ownHistoryQuery = z.strictObject({
  currency: currencyQuery.optional(),
  limit: pageSize,
  cursor: pageCursor.optional(),
});
export const historyRequest = z.strictObject({
  userId: z.string(),
  currency: currency.optional(),
  limit: z.int().min(1).max(MAX_PAGE_SIZE).default(DEFAULT_PAGE_SIZE),
  cursor: pageCursor.optional(),
});
export type HistoryQuery = Readonly<Omit<z.output<typeof historyRequest>, 'userId'>>;
export const history = z.object({
  items: z.array(
    z.object({
      kind: z.enum(['payout', 'distribution', 'withdrawal']),
      idemKey,
      currency,
      amount,
      level: z.int().optional().meta({ description: 'Of a distribution; 1 is the direct referrer.' }),
      sourceUserId: userId.optional().meta({ description: 'Whose play earned it.' }),
      memo: z.string().optional(),
      at: timestamp,
    }),
  ),
  nextCursor,
});
export const historyBody = encoderOf(history);

export const treeQuery = z.strictObject({
  depth: z
    .string()
    .regex(/^([1-9]|10)$/, 'must be a whole number from 1 to 10')
    .transform(Number)
    .default(MAX_DEPTH)
    .meta({ wire: { type: 'integer', minimum: 1, maximum: MAX_DEPTH, default: MAX_DEPTH } }),
  limit: pageSize,
});
export type TreeQuery = Readonly<z.output<typeof treeQuery>>;
export const tree = z.object({
  userId,
  items: z
    .array(z.object({ level: z.int(), userId, referrerUserId: userId, attributedAt: timestamp }))
    .meta({ description: 'Level by level, each in the order in which they came.' }),
  isComplete: z.boolean().meta({ description: 'False if the limit left some out.' }),
});
