/** What apps and players can read of referrals. Source: contract, Referrals (additions). */
import { type Endpoint, endpoint } from '@coffer/http';
import * as resource from './referral.resource.ts';
import type { ReferralReads } from './referralReads.ts';

export function referralReadEndpoints(reads: ReferralReads): readonly Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/referrals/users/:userId',
      credential: 'sk',
      summary: 'A user as a referrer and as one who was referred',
      description: 'With those whom the user brought, the last one first.',
      query: resource.refereesQuery,
      links: {
        'GET /referrals/users/:userId': {
          userId: '$request.path.userId',
          cursor: '$response.body#/nextCursor',
        },
      },
      success: { status: 200, schema: resource.userReferrals },
      errors: ['users/not_found'],
      handle: async ({ caller, params, query, context }) => ({
        status: 200,
        body: await reads.show(caller, params.userId, query, context),
      }),
    }),
    endpoint({
      method: 'POST',
      path: '/referrals/history',
      credential: 'sk',
      summary: "A user's accruals and withdrawals, newest first",
      body: resource.historyRequest,
      success: { status: 200, schema: resource.history },
      errors: ['users/not_found', 'referrals/unknown_currency'],
      handle: async ({ caller, body: { userId, ...query }, context }) => ({
        status: 200,
        body: await reads.history(caller, userId, query, context),
      }),
    }),
    endpoint({
      method: 'GET',
      path: '/referrals/me/history',
      credential: 'session',
      summary: "The player's accruals and withdrawals, newest first",
      query: resource.ownHistoryQuery,
      links: { 'GET /referrals/me/history': { cursor: '$response.body#/nextCursor' } },
      success: { status: 200, schema: resource.history },
      errors: ['referrals/unknown_currency'],
      handle: async ({ caller, query, context }) => ({
        status: 200,
        body: await reads.history(caller, caller.userId, query, context),
      }),
    }),
  ];
}
