/** Referrals for signed-in players. Source: specification, Referrals; docs/referrals.md. */
import { type Endpoint, endpoint } from '@coffer/http';
import type { AppDirectory } from '@coffer/portal';
import type { Attributions } from './attributions.ts';
import type { Chains } from './chains.ts';
import type { Codes } from './codes.ts';
import * as resource from './referral.resource.ts';
import { shareLinksOf } from './shareLinks.ts';
import type { Subjects } from './subjects.ts';

export interface PlayerRoutes {
  readonly directory: Pick<AppDirectory, 'setting'>;
  readonly codes: Codes;
  readonly attributions: Attributions;
  readonly chains: Chains;
  readonly subjects: Pick<Subjects, 'balancesOf'>;
}

export function playerReferralEndpoints(routes: PlayerRoutes): readonly Endpoint[] {
  const { directory, codes, attributions, chains, subjects } = routes;
  return [
    endpoint({
      method: 'GET',
      path: '/referrals/me',
      credential: 'session',
      summary: "The player's referral code, referrer and earnings",
      description: 'Makes a code if there is none.',
      success: { status: 200, schema: resource.ownReferrals },
      errors: [],
      handle: async ({ caller, context }) => {
        const code = await codes.ensure(caller, caller.userId, undefined, context);
        const [[referrer], balances] = await Promise.all([
          chains.chainOf(caller, caller.userId, 1, context),
          subjects.balancesOf(caller, caller.userId, context),
        ]);
        return {
          status: 200,
          body: resource.ownReferralsBody({
            code,
            referrer: referrer ? { userId: referrer.userId, code: referrer.code } : null,
            balances,
          }),
        };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/referrals/attribute-self',
      credential: 'session',
      summary: 'Say who brought the player, by a code',
      description:
        'The first referrer is final. A code that cannot count is answered with a reason, not an error.',
      body: resource.attributeSelfRequest,
      success: { status: 200, schema: resource.attribution },
      errors: [],
      handle: async ({ caller, body, context }) => {
        const { answer, replayed } = await attributions.attribute(caller, caller.userId, body.code, context);
        const { attributed } = answer;
        return {
          status: 200,
          body: 'reason' in answer ? { attributed, reason: answer.reason } : { attributed },
          replayed,
        };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/referrals/share-links',
      credential: 'session',
      summary: "The player's share links, by platform",
      description: "Made from the app's templates, with the player's code; makes a code if there is none.",
      success: { status: 200, schema: resource.shareLinks },
      errors: [],
      handle: async ({ caller, context }) => {
        const { appId, environment, userId } = caller;
        const code = await codes.ensure(caller, userId, undefined, context);
        const templates = await directory.setting(appId, environment, 'shareLinkTemplates');
        return { status: 200, body: { code, links: shareLinksOf(templates, code) } };
      },
    }),
  ];
}
