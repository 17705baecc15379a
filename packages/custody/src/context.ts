/** Pools: stakes of many players in escrow, settled or refunded by one decision. */
import { defineContext, someStream } from '@coffer/host';
import { pool } from './domain/pool.ts';
import { custodyErrors } from './errors.ts';

export const custodyContext = defineContext({
  name: 'custody',
  errors: custodyErrors,
  streams: [someStream(pool)],
});
