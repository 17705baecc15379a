/** The referrals group. Source: specification, Referrals; docs/api.md, Referrals. */

import type { Deadline } from '@coffer/event-store';
import { type Endpoint, endpoint } from '@coffer/http';
import type { AppPlace } from '@coffer/kernel';
import type { AppDirectory } from '@coffer/portal';
import type { Users } from '@coffer/users';
import type { Attributions } from './attributions.ts';
import type { Chains } from './chains.ts';
import type { Codes } from './codes.ts';
import type { Commissions } from './commissions.ts';
import { reject } from './errors.ts';
import * as resource from './referral.resource.ts';
import { shareLinksOf } from './shareLinks.ts';

export interface ReferralRoutes {
  readonly directory: Pick<AppDirectory, 'currencies' | 'currencyById' | 'setting'>;
  readonly users: Pick<Users, 'show'>;
  readonly codes: Codes;
  readonly attributions: Attributions;
  readonly chains: Chains;
  readonly commissions: Commissions;
}

const SUBJECT_ERRORS = ['users/not_found', 'referrals/unknown_currency'];

export function referralEndpoints(routes: ReferralRoutes): readonly Endpoint[] {
  const { directory, users, codes, attributions, chains, commissions } = routes;
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
          balancesOf(caller, caller.userId, context),
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
    endpoint({
      method: 'POST',
      path: '/referrals/chain',
      credential: 'sk',
      summary: "A user's referrers, from the direct one up",
      body: resource.chainRequest,
      success: { status: 200, schema: resource.chain },
      errors: ['users/not_found'],
      handle: async ({ caller, body: { userId, depth }, context }) => {
        await requireUser(caller, userId, context);
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
      success: { status: 200, schema: resource.codeAnswer },
      errors: ['users/not_found', 'referrals/code_already_issued', 'referrals/code_taken'],
      handle: async ({ caller, body: { userId, code }, context }) => {
        await requireUser(caller, userId, context);
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
      success: { status: 200, schema: resource.attribution },
      errors: ['users/not_found'],
      handle: async ({ caller, body: { userId, code }, context }) => {
        await requireUser(caller, userId, context);
        const { answer, replayed } = await attributions.attribute(caller, userId, code, context);
        return { status: 200, body: answer, replayed };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/referrals/payout',
      credential: 'sk',
      summary: 'Book a commission for one user',
      description: 'From the house; the user withdraws it later.',
      body: resource.payoutRequest,
      idempotencyHeader: { insteadOf: 'idemKey' },
      links: {
        'POST /referrals/balance': { userId: '$response.body#/userId', currency: '$response.body#/currency' },
      },
      success: { status: 201, schema: resource.booked },
      errors: [...SUBJECT_ERRORS, 'referrals/idempotency_conflict'],
      handle: async ({ caller, body, context }) => {
        const { idemKey, userId, currency, amount, sourceUserId, memo } = body;
        await subjectOf(caller, body, context);
        const request = {
          idemKey,
          userId,
          currencyId: currency,
          amount,
          ...(sourceUserId === undefined ? {} : { sourceUserId }),
          ...(memo === undefined ? {} : { memo }),
        };
        const { answer, replayed } = await commissions.payOut(caller, request, context);
        return {
          status: 201,
          body: resource.bookedBody({ idemKey, userId, currency, amount, balance: answer.balance }),
          replayed,
        };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/referrals/distribute',
      credential: 'sk',
      summary: "Split an amount over a user's referrers",
      description:
        'Each level gets its share, rounded down, of the chain as it is at the first request. Levels beyond the end of the chain get nothing; what is not distributed stays with the house.',
      body: resource.distributeRequest,
      idempotencyHeader: { insteadOf: 'idemKey' },
      success: { status: 200, schema: resource.distribution },
      errors: [...SUBJECT_ERRORS, 'referrals/idempotency_conflict'],
      handle: async ({ caller, body, context }) => {
        const { idemKey, userId, currency, amount, levels } = body;
        await subjectOf(caller, body, context);
        const request = { idemKey, userId, currencyId: currency, amount, levels };
        const { answer, replayed } = await commissions.distribute(caller, request, context);
        const { distributed, remainder, withheld } = answer;
        return {
          status: 200,
          body: resource.distributionBody({ idemKey, distributed, remainder, withheld }),
          replayed,
        };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/referrals/balance',
      credential: 'sk',
      summary: 'What a user has earned by referrals in a currency',
      body: resource.balanceRequest,
      success: { status: 200, schema: resource.balance },
      errors: SUBJECT_ERRORS,
      handle: async ({ caller, body, context }) => {
        const { userId, currency } = body;
        await subjectOf(caller, body, context);
        const figures = await commissions.figures(caller, { userId, currencyId: currency }, context);
        return { status: 200, body: resource.balanceBody({ userId, currency, ...figures }) };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/referrals/withdraw',
      credential: 'sk',
      summary: "Move a user's referral earnings to the available funds",
      description: 'All there is if no amount is given.',
      body: resource.withdrawRequest,
      idempotencyHeader: { insteadOf: 'idemKey' },
      links: {
        'POST /referrals/balance': {
          userId: '$response.body#/userId',
          currency: '$response.body#/currency',
        },
      },
      success: { status: 200, schema: resource.booked },
      errors: [
        ...SUBJECT_ERRORS,
        'referrals/idempotency_conflict',
        'users/suspended',
        'referrals/insufficient_earnings',
      ],
      handle: async ({ caller, body, context }) => {
        const { idemKey, userId, currency, amount: requested } = body;
        await subjectOf(caller, body, context);
        const request = {
          idemKey,
          userId,
          currencyId: currency,
          ...(requested === undefined ? {} : { requested }),
        };
        const { answer, replayed } = await commissions.withdraw(caller, request, context);
        const { amount, balance } = answer;
        return {
          status: 200,
          body: resource.bookedBody({ idemKey, userId, currency, amount, balance }),
          replayed,
        };
      },
    }),
  ];

  /** Throws `users/not_found`, `referrals/unknown_currency`. */
  async function subjectOf(
    place: AppPlace,
    { userId, currency }: { readonly userId: string; readonly currency: number },
    deadline: Deadline,
  ): Promise<void> {
    await requireUser(place, userId, deadline);
    if (!(await directory.currencyById(place.appId, currency))) throw reject('referrals/unknown_currency');
  }

  async function requireUser({ environment, scopeId }: AppPlace, userId: string, deadline: Deadline) {
    await users.show({ environment, scopeId, userId }, deadline);
  }

  async function balancesOf(place: AppPlace, userId: string, deadline: Deadline) {
    const all = await Promise.all(
      (await directory.currencies(place.appId)).map(async ({ id: currencyId }) => ({
        currency: currencyId,
        ...(await commissions.figures(place, { userId, currencyId }, deadline)),
      })),
    );
    return all.filter(({ accrued }) => accrued > 0n);
  }
}
