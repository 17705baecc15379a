/**
 * JSON whose numbers keep their value. `JSON.parse` reads 9007199254740993 as another number; lamports are u64, so a
 * whole number beyond 2^53 becomes a bigint here, of its own text.
 */
import { z } from 'zod';

const WHOLE = /^-?\d+$/;

/** Throws a `SyntaxError` where it is no JSON. */
export const parseLosslessJson = (text: string): unknown =>
  JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) => {
    if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
    const source = context?.source ?? '';
    return WHOLE.test(source) ? BigInt(source) : value;
  });

/** Whole and not negative, exact however large. */
export const u64Figure = z
  .union([z.int().nonnegative(), z.bigint().nonnegative()])
  .transform((value) => BigInt(value));

/** An error as the cluster says it, in one line. */
export const errorText = (error: unknown): string =>
  typeof error === 'string'
    ? error
    : JSON.stringify(error, (_key, value: unknown) => (typeof value === 'bigint' ? `${value}` : value));
