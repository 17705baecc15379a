/** Codes and chains for game backends. Source: specification, Referrals; docs/referrals.md. */
import { type Endpoint, endpoint } from '@coffer/http';
import type { Attributions } from './attributions.ts';
import type { Chains } from './chains.ts';
import type { Codes } from './codes.ts';
import * as resource from './referral.resource.ts';
import type { Subjects } from './subjects.ts';

export interface AttributionRoutes {
  readonly codes: Codes;
  readonly attributions: Attributions;
  readonly chains: Chains;
  readonly subjects: Pick<Subjects, 'requireUser'>;
}

export function attributionEndpoints(routes: AttributionRoutes): readonly Endpoint[] {
  const { codes, attributions, chains, subjects } = routes;
  return [
    endpoint({
      method: 'POST',
      path: '/referrals/chain',
      credential: 'sk',
      summary: "A user's referrers, from the direct one up",
      body: resource.chainRequest,
      success: { status: 200, schema: resource.chain },
      errors: ['users/not_found'],
      handle: async ({ caller, body: { userId, depth }, context }) => {
        await subjects.requireUser(caller, userId, context);
        const chain = await chains.chainOf(caller, userId, depth, context);
        return {
          status: 200,
          body: {
            userId,
            chain: chain.map(({ level, userId: above, code }) => ({ level, userId: above, code })),
          },
        };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/referrals/code',
      credential: 'sk',
      summary: "A user's referral code, made if there is none",
      description:
        'A user has one code for ever. Codes are unique in the app and environment, without regard to case.',
      body: resource.codeRequest,
      links: { 'POST /referrals/attribute': { code: '$response.body#/code' } },
      success: { status: 200, schema: resource.codeAnswer },
      errors: ['users/not_found', 'referrals/code_already_issued', 'referrals/code_taken'],
      handle: async ({ caller, body: { userId, code }, context }) => {
        await subjects.requireUser(caller, userId, context);
        return { status: 200, body: { userId, code: await codes.ensure(caller, userId, code, context) } };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/referrals/attribute',
      credential: 'sk',
      summary: 'Say who brought a user, by a code',
      description:
        'The first referrer is final. A code that cannot count is answered with a reason, not an error.',
      body: resource.attributeRequest,
      links: {
        'POST /referrals/chain': { userId: '$request.body#/userId' },
        'POST /referrals/distribute': { userId: '$request.body#/userId' },
      },
      success: { status: 200, schema: resource.attribution },
      errors: ['users/not_found'],
      handle: async ({ caller, body: { userId, code }, context }) => {
        await subjects.requireUser(caller, userId, context);
        const { answer, replayed } = await attributions.attribute(caller, userId, code, context);
        return { status: 200, body: answer, replayed };
      },
    }),
  ];
}
