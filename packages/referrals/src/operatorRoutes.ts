/** Referrals for operators. Source: contract, The command line. */
import { type Endpoint, endpoint } from '@coffer/http';
import { type AppDirectory, PLACE_ERRORS, placeOf } from '@coffer/portal';
import * as resource from './referral.resource.ts';
import type { ReferralReads } from './referralReads.ts';

const USER = '/portal/app/:appId/:environment/referrals/users/:userId';

export function operatorReferralEndpoints({
  directory,
  reads,
}: {
  readonly directory: AppDirectory;
  readonly reads: ReferralReads;
}): readonly Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: USER,
      credential: 'operator',
      summary: 'Show a user as a referrer and as one who was referred',
      query: resource.refereesQuery,
      success: { status: 200, schema: resource.userReferrals },
      errors: [...PLACE_ERRORS, 'users/not_found'],
      handle: async ({ params, query, context }) => {
        const place = await placeOf(directory, params);
        return { status: 200, body: await reads.show(place, params.userId, query, context) };
      },
    }),
    endpoint({
      method: 'GET',
      path: `${USER}/tree`,
      credential: 'operator',
      summary: 'Show whom a user brought, whom they brought, and so on',
      query: resource.treeQuery,
      success: { status: 200, schema: resource.tree },
      errors: [...PLACE_ERRORS, 'users/not_found'],
      handle: async ({ params, query, context }) => {
        const place = await placeOf(directory, params);
        return { status: 200, body: await reads.tree(place, params.userId, query, context) };
      },
    }),
    endpoint({
      method: 'GET',
      path: `${USER}/history`,
      credential: 'operator',
      summary: "List a user's accruals and withdrawals, newest first",
      query: resource.ownHistoryQuery,
      success: { status: 200, schema: resource.history },
      errors: [...PLACE_ERRORS, 'users/not_found', 'referrals/unknown_currency'],
      handle: async ({ params, query, context }) => {
        const place = await placeOf(directory, params);
        return { status: 200, body: await reads.history(place, params.userId, query, context) };
      },
    }),
  ];
}
