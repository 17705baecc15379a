/** A moment in the past, as an operator names it. Source: contract, The command line, `--at TIME|ORDINAL|POSITION`. */
import type { Position } from '@coffer/event-store';
import { z } from 'zod';

/** By time, by an event's number in the log, or by its position. */
export type PastMoment =
  | { readonly kind: 'time'; readonly time: Date }
  | { readonly kind: 'ordinal'; readonly ordinal: number }
  | { readonly kind: 'position'; readonly position: string };

/**
 * The last event of the log at the moment. Throws `request/invalid`, with the reason, for a moment that the log has
 * not reached yet, one before its first event, and one that its store cannot read.
 */
export type PastPlaceOf = (
  at: PastMoment,
) => Promise<{ readonly ordinal: number; readonly position: Position }>;

const ISO_TIME = /^\d{4}-\d{2}-\d{2}(?:T[0-9:.]+(?:Z|[+-]\d{2}:\d{2}))?$/;

/** The largest exact number; no log is that long. */
const ORDINAL = /^\d{1,15}$/;

/** A time is ISO 8601, an ordinal a whole number; the store interprets anything else. */
export const pastMoment = z
  .string()
  .min(1)
  .max(64)
  .refine((text) => !ISO_TIME.test(text) || exists(text), 'must be a time that exists')
  .meta({ example: '2026-01-31T12:00:00Z' });

export const momentOf = (text: string | undefined): PastMoment | undefined => {
  if (text === undefined) return undefined;
  if (ISO_TIME.test(text)) return { kind: 'time', time: new Date(text) };
  if (ORDINAL.test(text)) return { kind: 'ordinal', ordinal: Number(text) };
  return { kind: 'position', position: text };
};

/** `Date` takes the 30th of February for the 2nd of March. */
function exists(time: string): boolean {
  if (Number.isNaN(Date.parse(time))) return false;
  const day = time.slice(0, 'yyyy-mm-dd'.length);
  return new Date(day).toISOString().startsWith(day);
}
