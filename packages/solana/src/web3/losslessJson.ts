/**
 * JSON whose numbers keep their value. `JSON.parse` reads 9007199254740993 as another number; lamports are u64, so here a
 * whole number beyond 2^53 becomes a bigint.
 */
import { z } from 'zod';

const WHOLE = /^-?\d+$/;
/** A whole number with fewer digits is below 2^53. */
const MANY_DIGITS = /\d{16}/;

/** Throws a `SyntaxError` if it is not JSON. */
export const parseLosslessJson = (text: string): unknown =>
  // Looking at each value takes several times as long as parsing.
  MANY_DIGITS.test(text) ? JSON.parse(text, exactNumber) : JSON.parse(text);

function exactNumber(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? '';
  return WHOLE.test(source) ? BigInt(source) : value;
}

/** A whole, non-negative number, exact however large. */
export const u64Figure = z
  .union([z.int().nonnegative(), z.bigint().nonnegative()])
  .transform((value) => BigInt(value));

/** The cluster's error in one line. */
export const errorText = (error: unknown): string =>
  typeof error === 'string'
    ? error
    : JSON.stringify(error, (_key, value: unknown) => (typeof value === 'bigint' ? `${value}` : value));
