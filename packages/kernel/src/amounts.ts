/**
 * Amounts are bigint base units inside and canonical decimal strings at every edge
 * (HTTP, events). Source: contract "Common rules", row Amounts: an SPL amount, so at most 2^64 - 1.
 */
import { z } from 'zod';

export const MAX_AMOUNT = 2n ** 64n - 1n;

const CANONICAL_AMOUNT = /^(0|[1-9][0-9]{0,19})$/;
const CANONICAL_FIGURE = /^(0|[1-9][0-9]*)$/;
const CANONICAL_SIGNED_FIGURE = /^(0|-?[1-9][0-9]*)$/;

const integerText = (pattern: RegExp, message: string) =>
  z.codec(z.string().regex(pattern, message), z.bigint(), {
    decode: (text) => BigInt(text),
    encode: (value) => value.toString(),
  });

const AMOUNT_MESSAGE = 'must be a base-unit integer as a string, without sign, leading zeros or exponent';

/** "0" to 2^64 - 1: what callers may send where zero is meaningful (lock, bet, win, rake, payout). */
export const amount = integerText(CANONICAL_AMOUNT, AMOUNT_MESSAGE).refine((value) => value <= MAX_AMOUNT, {
  message: `must be at most ${MAX_AMOUNT}`,
});

/** "1" to 2^64 - 1: every other amount of a caller. */
export const positiveAmount = amount.refine((value) => value >= 1n, { message: 'must be at least "1"' });

/** A sum that we answer or store: never negative, but it may be wider than one amount. */
export const figure = integerText(CANONICAL_FIGURE, 'must be a non-negative integer as a string');

/** A difference that we answer or store: may be negative. */
export const signedFigure = integerText(CANONICAL_SIGNED_FIGURE, 'must be an integer as a string');
