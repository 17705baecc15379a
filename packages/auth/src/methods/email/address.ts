/** An email address as an identity, in one canonical spelling. Source: contract, Sign-in and sessions. */
import { z } from 'zod';

/** RFC 5321, the longest path without its angle brackets. */
const MAX_LENGTH = 254;

/** Trimmed and lower-cased. ASCII only: other letters would fold into these, or look like them. */
export const emailAddress = z
  .string()
  .max(2 * MAX_LENGTH)
  .transform((text) => text.trim())
  .pipe(
    z
      .string()
      .max(MAX_LENGTH)
      .regex(/^[\x21-\x7e]+$/, 'must be an email address in ASCII')
      .toLowerCase()
      .pipe(z.email()),
  )
  .meta({
    // Surrounding blanks are trimmed and do not count.
    pattern: `^\\s*${z.regexes.email.source.slice(1, -1)}\\s*$`,
    example: 'player@example.com',
  });
