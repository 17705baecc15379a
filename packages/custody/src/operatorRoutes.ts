/** How an operator sees pools, and voids one that a game has left open. Source: contract, The command line. */
import { type Endpoint, endpoint } from '@coffer/http';
import { type AppDirectory, PLACE_ERRORS, placeOf } from '@coffer/portal';
import { refundedBody } from './domain/pool.answers.ts';
import * as schemas from './domain/pool.resource.ts';
import type { PoolReads } from './poolReads.ts';
import type { Pools } from './pools.ts';

/** They work whether or not the app may use pools now: its funds may be in them. */
export const operatorPoolEndpoints = ({
  directory,
  pools,
  reads,
}: {
  readonly directory: AppDirectory;
  readonly pools: Pick<Pools, 'refund'>;
  readonly reads: PoolReads;
}): readonly Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/portal/app/:appId/:environment/pools',
    credential: 'operator',
    summary: 'List pools, the newest first',
    query: schemas.poolsQuery,
    links: {
      'GET /portal/app/:appId/:environment/pools/:poolId': {
        appId: '$request.path.appId',
        environment: '$request.path.environment',
        poolId: '$response.body#/items/0/poolId',
      },
      'GET /portal/app/:appId/:environment/pools': {
        appId: '$request.path.appId',
        environment: '$request.path.environment',
        cursor: '$response.body#/nextCursor',
      },
    },
    success: { status: 200, schema: schemas.poolPage },
    errors: [...PLACE_ERRORS, 'custody/unknown_currency'],
    handle: async ({ params, query, context }) => {
      return { status: 200, body: await reads.list(await placeOf(directory, params), query, context) };
    },
  }),
  endpoint({
    method: 'GET',
    path: '/portal/app/:appId/:environment/pools/:poolId',
    credential: 'operator',
    summary: 'Show a pool, and how many of its credits are done',
    success: { status: 200, schema: schemas.shownPool },
    errors: [...PLACE_ERRORS, 'custody/pool_not_found'],
    handle: async ({ params, context }) => {
      const place = await placeOf(directory, params);
      return { status: 200, body: await reads.show(place, params.poolId, context) };
    },
  }),
  endpoint({
    method: 'GET',
    path: '/portal/app/:appId/:environment/pools/:poolId/stakes',
    credential: 'operator',
    summary: 'List the stakes of a pool',
    query: schemas.stakesQuery,
    success: { status: 200, schema: schemas.stakePage },
    errors: [...PLACE_ERRORS, 'custody/pool_not_found'],
    handle: async ({ params, query, context }) => {
      const place = await placeOf(directory, params);
      return { status: 200, body: await reads.stakes(place, params.poolId, query, context) };
    },
  }),
  endpoint({
    method: 'POST',
    path: '/portal/app/:appId/:environment/pools/:poolId/refund',
    credential: 'operator',
    summary: 'Refund every stake of a pool',
    description: 'Like POST /custody/refund: a repeat gets the same answer.',
    body: schemas.refundBody.omit({ poolId: true }),
    success: { status: 200, schema: schemas.refundedPool },
    errors: [
      ...PLACE_ERRORS,
      'custody/pool_not_found',
      'custody/idempotency_conflict',
      'custody/pool_closed',
    ],
    handle: async ({ params, body, context }) => {
      const place = await placeOf(directory, params);
      const { poolId } = params;
      const { answer, replayed } = await pools.refund(place, { ...body, poolId }, context);
      return { status: 200, body: refundedBody(poolId, answer), replayed };
    },
  }),
];
