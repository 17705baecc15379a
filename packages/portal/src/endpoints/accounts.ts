/** A player's off-chain funds, as an operator sees and adjusts them. */
import { type Endpoint, endpoint, type RequestContext } from '@coffer/http';
import {
  type AppPlace,
  currencyCode,
  figure,
  longCallerId,
  positiveAmount,
  trimmedText,
} from '@coffer/kernel';
import { z } from 'zod';
import type { Currency } from '../currencies.ts';
import { reject } from '../errors.ts';
import { momentOf, type PastMoment, pastMoment } from './pastMoment.ts';
import type { PortalOptions } from './portalEndpoints.ts';
import { placeOf } from './subject.ts';

export interface PortalFunds {
  readonly available: bigint;
  readonly held: bigint;
}

export interface PortalAccount extends AppPlace {
  readonly userId: string;
  readonly currency: Currency;
}

export interface PortalAdjustment extends PortalAccount {
  readonly amount: bigint;
  /** Once per account. */
  readonly ref: string;
  readonly reason: string | undefined;
}

/** What the portal needs of the accounts context. Throws `users/not_found` and the rules' own rejections. */
export interface PortalAccounts {
  /** What the rules refuse. */
  readonly errors: { readonly credit: readonly string[]; readonly debit: readonly string[] };
  /** Now, and without a place, when `at` is undefined. Throws `request/invalid` on no moment of this log. */
  readonly show: (
    account: PortalAccount & { readonly at: PastMoment | undefined },
    context: RequestContext,
  ) => Promise<PortalFunds & Partial<PastPlace>>;
  readonly credit: (adjustment: PortalAdjustment, context: RequestContext) => Promise<AdjustedFunds>;
  readonly debit: (adjustment: PortalAdjustment, context: RequestContext) => Promise<AdjustedFunds>;
}

export interface AdjustedFunds {
  readonly answer: PortalFunds;
  readonly replayed: boolean;
}

/** What a moment of the past comes to: the last event that counts. */
interface PastPlace {
  readonly ordinal: number;
  readonly position: string;
}

const fundsBody = z.object({ available: figure, held: figure });
const shownBody = fundsBody.extend({
  ordinal: z.int().optional().meta({ description: 'With `at`: the last event that counts.' }),
  position: z.string().optional().meta({ description: 'Where it stands in the log.' }),
});
const rendered = (funds: PortalFunds) =>
  z.encode(fundsBody, { available: funds.available, held: funds.held });

const ACCOUNT_ERRORS = [
  'portal/app_not_found',
  'portal/environment_not_found',
  'portal/unknown_currency',
  'users/not_found',
];

export const accountEndpoints = ({
  directory,
  accounts,
}: Pick<PortalOptions, 'directory' | 'accounts'>): readonly Endpoint[] => {
  const accountOf = async (
    params: { readonly appId: string; readonly environment: string; readonly userId: string },
    code: string,
  ): Promise<PortalAccount> => {
    const place = await placeOf(directory, params);
    const currency = await directory.currencyByCode(place.appId, code);
    if (!currency) throw reject('portal/unknown_currency', { currency: code });
    return { ...place, userId: params.userId, currency };
  };

  const adjustment = (direction: 'credit' | 'debit'): Endpoint =>
    endpoint({
      method: 'POST',
      path: `/portal/app/:appId/:environment/users/:userId/accounts/${direction}`,
      credential: 'operator',
      summary: `Adjust a player's funds: ${direction}`,
      description: 'Once per ref: the same adjustment again answers the same.',
      body: z.strictObject({
        currency: currencyCode,
        amount: positiveAmount,
        ref: longCallerId,
        reason: trimmedText(200).optional(),
      }),
      success: { status: 200, schema: fundsBody },
      errors: [...ACCOUNT_ERRORS, ...accounts.errors[direction]],
      handle: async ({ params, body: { currency, amount, ref, reason }, context }) => {
        const account = await accountOf(params, currency);
        const { answer, replayed } = await accounts[direction]({ ...account, amount, ref, reason }, context);
        return { status: 200, body: rendered(answer), replayed };
      },
    });

  return [
    endpoint({
      method: 'GET',
      path: '/portal/app/:appId/:environment/users/:userId/accounts',
      credential: 'operator',
      summary: "Show a player's funds in one currency, now or as they were",
      query: z.strictObject({ currency: currencyCode, at: pastMoment.optional() }),
      success: { status: 200, schema: shownBody },
      errors: ACCOUNT_ERRORS,
      handle: async ({ params, query, context }) => {
        const account = await accountOf(params, query.currency);
        const { ordinal, position, ...funds } = await accounts.show(
          { ...account, at: momentOf(query.at) },
          context,
        );
        return { status: 200, body: { ...rendered(funds), ordinal, position } };
      },
    }),
    adjustment('credit'),
    adjustment('debit'),
  ];
};
