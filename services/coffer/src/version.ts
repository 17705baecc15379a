import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** The product's version, as its manifest says. */
export const VERSION = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))).version;
