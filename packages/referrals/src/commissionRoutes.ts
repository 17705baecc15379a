/** Commissions and earnings for game backends. Source: specification, Referrals; docs/referrals.md. */
import { type Endpoint, endpoint } from '@coffer/http';
import type { Commissions } from './commissions.ts';
import * as resource from './referral.resource.ts';
import type { Subjects } from './subjects.ts';
import type { Withdrawals } from './withdrawals.ts';

const SUBJECT_ERRORS = ['users/not_found', 'referrals/unknown_currency'];
const EARNINGS_TOLD = { userId: '$response.body#/userId', currency: '$response.body#/currency' };

export interface CommissionRoutes {
  readonly commissions: Commissions;
  readonly withdrawals: Pick<Withdrawals, 'withdraw'>;
  readonly subjects: Pick<Subjects, 'requireUserAndCurrency'>;
}

export function commissionEndpoints({
  commissions,
  withdrawals,
  subjects,
}: CommissionRoutes): readonly Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/referrals/payout',
      credential: 'sk',
      summary: 'Book a commission for one user',
      description: 'From the house; the user withdraws it later.',
      body: resource.payoutRequest,
      idempotencyHeader: { insteadOf: 'idemKey' },
      links: {
        'POST /referrals/balance': EARNINGS_TOLD,
        'POST /referrals/withdraw': EARNINGS_TOLD,
        'POST /referrals/history': EARNINGS_TOLD,
      },
      success: { status: 201, schema: resource.booked },
      errors: [...SUBJECT_ERRORS, 'referrals/idempotency_conflict'],
      handle: async ({ caller, body, context }) => {
        const { idemKey, userId, currency, amount, sourceUserId, memo } = body;
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
        await subjects.requireUserAndCurrency(caller, body, context);
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
        await subjects.requireUserAndCurrency(caller, body, context);
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
      links: { 'POST /referrals/balance': EARNINGS_TOLD, 'POST /referrals/history': EARNINGS_TOLD },
      success: { status: 200, schema: resource.booked },
      errors: [
        ...SUBJECT_ERRORS,
        'referrals/idempotency_conflict',
        'users/suspended',
        'referrals/insufficient_earnings',
      ],
      handle: async ({ caller, body, context }) => {
        const { idemKey, userId, currency, amount: requested } = body;
        const request = {
          idemKey,
          userId,
          currencyId: currency,
          ...(requested === undefined ? {} : { requested }),
        };
        const { answer, replayed } = await withdrawals.withdraw(caller, request, context);
        const { amount, balance } = answer;
        return {
          status: 200,
          body: resource.bookedBody({ idemKey, userId, currency, amount, balance }),
          replayed,
        };
      },
    }),
  ];
}
