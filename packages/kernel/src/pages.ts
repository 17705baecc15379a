/** Pages of lists: the query parameters that ask for them. */
import { z } from 'zod';

export const MAX_PAGE_SIZE = 200;
export const DEFAULT_PAGE_SIZE = 50;

/** A query parameter, so it arrives as text. */
export const pageSize = z
  .string()
  .regex(/^(?:[1-9]\d?|1\d\d|200)$/, `must be a whole number from 1 to ${MAX_PAGE_SIZE}`)
  .transform(Number)
  .default(DEFAULT_PAGE_SIZE)
  .meta({ wire: { type: 'integer', minimum: 1, maximum: MAX_PAGE_SIZE, default: DEFAULT_PAGE_SIZE } });

/** The `nextCursor` of the page before. */
export const pageCursor = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,500}$/, 'is not a cursor of this list; begin without one')
  .meta({ description: 'The `nextCursor` of the page before.' });
