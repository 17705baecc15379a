/** A moment of the past, as an operator names it. Source: contract, The command line, `--at TIME|POSITION`. */
import { z } from 'zod';

/** By the clock, or by a position of the log. */
export type PastMoment =
  | { readonly kind: 'time'; readonly time: Date }
  | { readonly kind: 'position'; readonly position: string };

const ISO_TIME = /^\d{4}-\d{2}-\d{2}(?:T[0-9:.]+(?:Z|[+-]\d{2}:\d{2}))?$/;

/** A time is ISO 8601; anything else is a position. */
export const pastMoment = z
  .string()
  .min(1)
  .max(64)
  .refine((text) => !ISO_TIME.test(text) || !Number.isNaN(Date.parse(text)), 'is no such time');

export const momentOf = (text: string | undefined): PastMoment | undefined => {
  if (text === undefined) return undefined;
  return ISO_TIME.test(text) ? { kind: 'time', time: new Date(text) } : { kind: 'position', position: text };
};
