/** Requests and answers of the referrals group: money is bigint here and text outside. Source: docs/api.md, Referrals. */
import { amount, boundedText, encoderOf, figure, idText, longCallerId, positiveAmount } from '@coffer/kernel';
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

export const ownReferrals = z.object({
  code,
  referrer: z.object({ userId, code: code.nullable() }).nullable(),
  balances: z.array(z.object({ currency, ...figures })),
});
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
