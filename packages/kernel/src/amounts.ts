/**
 * Amounts are bigint base units inside and canonical decimal strings at every edge
 * (HTTP, events). Source: contract "Common rules", row Amounts: an SPL amount is at most 2^64 - 1.
 */
import { z } from 'zod';

export const MAX_AMOUNT = 2n ** 64n - 1n;

/** One pattern for the whole numbers from 1 to the largest: JSON Schema has no numeric bounds for text. */
function patternUpTo(largest: bigint): string {
  const digits = [...largest.toString()].map(Number);
  const shorter = `[1-9][0-9]{0,${digits.length - 2}}`;
  const smaller = digits.flatMap((digit, index) => {
    const first = index === 0 ? 1 : 0;
    if (digit <= first) return [];
    const rest = digits.length - index - 1;
    return [`${digits.slice(0, index).join('')}[${first}-${digit - 1}]${rest > 0 ? `[0-9]{${rest}}` : ''}`];
  });
  return [shorter, ...smaller, largest].join('|');
}
const UP_TO_MAX = patternUpTo(MAX_AMOUNT);

const CANONICAL_AMOUNT = /^(0|[1-9][0-9]{0,19})$/;
const CANONICAL_FIGURE = /^(0|[1-9][0-9]*)$/;
const CANONICAL_SIGNED_FIGURE = /^(0|-?[1-9][0-9]*)$/;

const integerText = (pattern: RegExp, message: string) =>
  z.codec(z.string().regex(pattern, message), z.bigint(), {
    decode: (text) => BigInt(text),
    encode: (value) => value.toString(),
  });

const AMOUNT_MESSAGE = 'must be a base-unit integer as a string, without sign, leading zeros or exponent';

/** "0" to 2^64 - 1: amounts from callers where zero is meaningful (lock, bet, win, rake, payout). */
export const amount = integerText(CANONICAL_AMOUNT, AMOUNT_MESSAGE)
  .refine((value) => value <= MAX_AMOUNT, { message: `must be at most ${MAX_AMOUNT}` })
  .meta({ pattern: `^(?:0|${UP_TO_MAX})$`, example: '100000' });

/** "1" to 2^64 - 1: every other amount from a caller. */
export const positiveAmount = amount
  .refine((value) => value >= 1n, { message: 'must be at least "1"' })
  .meta({ pattern: `^(?:${UP_TO_MAX})$` });

/** A sum that we answer or store: never negative, but it may exceed one amount. */
export const figure = integerText(CANONICAL_FIGURE, 'must be a non-negative integer as a string').meta({
  description: 'Base units, as a decimal string.',
  example: '2500000',
});

/** A difference that we answer or store. */
export const signedFigure = integerText(CANONICAL_SIGNED_FIGURE, 'must be an integer as a string').meta({
  description: 'Base units, as a signed decimal string.',
  example: '-2500000',
});

const integerIn =
  (pattern: RegExp) =>
  (value: unknown): bigint | undefined =>
    typeof value === 'string' && pattern.test(value) ? BigInt(value) : undefined;

/** The figure that a value decodes to; undefined for one that is none. */
export const figureIn = integerIn(CANONICAL_FIGURE);
export const signedFigureIn = integerIn(CANONICAL_SIGNED_FIGURE);

/** The canonical text of a figure; undefined for any other value. */
export const figureText = (value: unknown): string | undefined =>
  typeof value === 'bigint' && value >= 0n ? value.toString() : undefined;
export const signedFigureText = (value: unknown): string | undefined =>
  typeof value === 'bigint' ? value.toString() : undefined;
