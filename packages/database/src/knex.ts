/** knex, loaded when it is first used: most starts find nothing to apply, and many processes answer no list. ADR 0031. */
import { createRequire } from 'node:module';
import type { Knex } from 'knex';

const require = createRequire(import.meta.url);

export function knex(config: Knex.Config): Knex {
  const loaded: typeof import('knex') = require('knex');
  return loaded.knex(config);
}
