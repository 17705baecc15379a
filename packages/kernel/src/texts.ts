/** Texts in a person's own words, and pages of lists: checked and told to schemas in one place. */
import { z } from 'zod';

/** Characters as people count them, and as JSON Schema does: not the halves of a surrogate pair. */
const lengthOf = (text: string): number => [...text].length;

/** At most so many characters. */
export const boundedText = (maximum: number) =>
  z
    .string()
    .refine(
      (text) => text.length <= maximum || lengthOf(text) <= maximum,
      `must have at most ${maximum} characters`,
    )
    .meta({ maxLength: maximum });

/** 1 to so many characters, without the blanks around them. */
export const trimmedText = (maximum: number) =>
  z
    .string()
    .trim()
    .refine((text) => text !== '' && lengthOf(text) <= maximum, `must have 1 to ${maximum} characters`)
    .meta({ pattern: `^\\s*\\S(?:[\\s\\S]{0,${maximum - 2}}\\S)?\\s*$`, example: 'As agreed' });

export const MAX_PAGE_SIZE = 200;
export const DEFAULT_PAGE_SIZE = 50;

/** Of a query, so it comes as text. */
export const pageSize = z
  .string()
  .regex(/^(?:[1-9]\d?|1\d\d|200)$/, `must be a whole number from 1 to ${MAX_PAGE_SIZE}`)
  .transform(Number)
  .default(DEFAULT_PAGE_SIZE)
  .meta({ wire: { type: 'integer', minimum: 1, maximum: MAX_PAGE_SIZE, default: DEFAULT_PAGE_SIZE } });

/** As the page before answered it. */
export const pageCursor = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,500}$/, 'is no cursor of this list; begin without one')
  .meta({ description: 'The `nextCursor` of the page before.' });
