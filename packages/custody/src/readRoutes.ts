/** What an app sees of its pools. Source: contract, Custody. */
import { type AppCaller, type Endpoint, endpoint } from '@coffer/http';
import * as schemas from './domain/pool.resource.ts';
import type { PoolReads } from './poolReads.ts';

export function poolReadEndpoints({
  reads,
  admit,
}: {
  readonly reads: PoolReads;
  /** The feature switch. */
  readonly admit: (caller: AppCaller) => Promise<void>;
}): readonly Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/custody/pools',
      credential: 'sk',
      summary: 'List pools, the newest first',
      admit,
      query: schemas.poolsQuery,
      links: {
        'GET /custody/pools/:poolId': { poolId: '$response.body#/items/0/poolId' },
        'GET /custody/pools': { cursor: '$response.body#/nextCursor' },
      },
      success: { status: 200, schema: schemas.poolPage },
      errors: ['custody/not_found', 'custody/unknown_currency'],
      handle: async ({ caller, query, context }) => ({
        status: 200,
        body: await reads.list(caller, query, context),
      }),
    }),
    endpoint({
      method: 'GET',
      path: '/custody/pools/:poolId',
      credential: 'sk',
      summary: 'Get a pool, and how many of its credits are done',
      admit,
      links: { 'GET /custody/pools/:poolId/stakes': { poolId: '$response.body#/poolId' } },
      success: { status: 200, schema: schemas.shownPool },
      errors: ['custody/not_found', 'custody/pool_not_found'],
      handle: async ({ caller, params, context }) => ({
        status: 200,
        body: await reads.show(caller, params.poolId, context),
      }),
    }),
    endpoint({
      method: 'GET',
      path: '/custody/pools/:poolId/stakes',
      credential: 'sk',
      summary: 'List the stakes of a pool, in the order in which they were locked',
      admit,
      query: schemas.stakesQuery,
      links: {
        'GET /custody/pools/:poolId/stakes': {
          poolId: '$request.path.poolId',
          cursor: '$response.body#/nextCursor',
        },
      },
      success: { status: 200, schema: schemas.stakePage },
      errors: ['custody/not_found', 'custody/pool_not_found'],
      handle: async ({ caller, params, query, context }) => ({
        status: 200,
        body: await reads.stakes(caller, params.poolId, query, context),
      }),
    }),
  ];
}
