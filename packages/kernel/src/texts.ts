/** Texts in a person's own words. */
import { z } from 'zod';

/** Counts characters as people and JSON Schema do: not the halves of a surrogate pair. */
const lengthOf = (text: string): number => [...text].length;

export const boundedText = (maximum: number) =>
  z
    .string()
    .refine(
      (text) => text.length <= maximum || lengthOf(text) <= maximum,
      `must have at most ${maximum} characters`,
    )
    .meta({ maxLength: maximum });

/** The text is trimmed first. */
export const trimmedText = (maximum: number) =>
  z
    .string()
    .trim()
    .refine((text) => text !== '' && lengthOf(text) <= maximum, `must have 1 to ${maximum} characters`)
    .meta({ pattern: `^\\s*\\S(?:[\\s\\S]{0,${maximum - 2}}\\S)?\\s*$`, example: 'As agreed' });

/** An answer's time. */
export const timestamp = z.iso
  .datetime({ precision: 3 })
  .meta({ description: 'ISO 8601 UTC with milliseconds.' });
