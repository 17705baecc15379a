/** An email address as an identity: written in one way only. Source: contract, Sign-in and sessions. */
import { z } from 'zod';

/** RFC 5321, the longest path without its angle brackets. */
const MAX_LENGTH = 254;

/** Trimmed and lower-cased. ASCII only: other letters would fold into these, or only look like them. */
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
    // Without the blanks around it, which are taken off.
    pattern: `^\\s*${z.regexes.email.source.slice(1, -1)}\\s*$`,
    example: 'player@example.com',
  });
