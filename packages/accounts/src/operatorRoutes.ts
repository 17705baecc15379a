/** How an operator sees and adjusts a player's off-chain funds. */
import { type Deadline, type EventStore, requestedBy } from '@coffer/event-store';
import { type Endpoint, endpoint } from '@coffer/http';
import {
  type AccountKey,
  type AppPlace,
  type Clock,
  currencyCode,
  encoderOf,
  figure,
  isoTimeOf,
  longCallerId,
  positiveAmount,
  trimmedText,
  type UserPlace,
} from '@coffer/kernel';
import {
  type AppDirectory,
  currencyOf,
  momentOf,
  type PastPlaceOf,
  PLACE_ERRORS,
  pastMoment,
  placeOf,
} from '@coffer/portal';
import { z } from 'zod';
import { type Accounts, ADJUSTMENT_ERRORS } from './accounts.ts';

export interface OperatorAccountDependencies {
  readonly directory: AppDirectory;
  readonly accounts: Pick<Accounts, 'figures' | 'figuresAt' | 'credit' | 'debit'>;
  /** Throws `users/not_found`. */
  readonly requireUser: (user: UserPlace, deadline: Deadline) => Promise<unknown>;
  readonly clock: Clock;
  readonly store: Pick<EventStore, 'comparePositions'>;
  readonly pastPlaceOf: PastPlaceOf;
}

const fundsBody = z.object({ available: figure, held: figure });
const shownBody = fundsBody.extend({
  ordinal: z.int().optional().meta({ description: 'With `at`: the last event that counts.' }),
  position: z.string().optional().meta({ description: 'Its place in the log.' }),
});
const rendered = encoderOf(fundsBody);

const ACCOUNT_ERRORS = [...PLACE_ERRORS, 'portal/unknown_currency', 'users/not_found'];

export function operatorAccountEndpoints(dependencies: OperatorAccountDependencies): readonly Endpoint[] {
  const { directory, accounts, requireUser, clock, store, pastPlaceOf } = dependencies;

  const accountOf = async (
    params: { readonly appId: string; readonly environment: string; readonly userId: string },
    code: string,
    deadline: Deadline,
  ): Promise<AccountKey> => {
    const place: AppPlace = await placeOf(directory, params);
    const { appId, environment } = place;
    const { id: currencyId } = await currencyOf(directory, appId, code);
    await requireUser({ ...place, userId: params.userId }, deadline);
    return { appId, environment, userId: params.userId, currencyId };
  };

  const adjustment = (direction: 'credit' | 'debit'): Endpoint =>
    endpoint({
      method: 'POST',
      path: `/portal/app/:appId/:environment/users/:userId/accounts/${direction}`,
      credential: 'operator',
      summary: `Adjust a player's funds: ${direction}`,
      description: 'Once per ref: a repeat gets the same answer.',
      body: z.strictObject({
        currency: currencyCode,
        amount: positiveAmount,
        ref: longCallerId,
        reason: trimmedText(200).optional(),
      }),
      success: { status: 200, schema: fundsBody },
      errors: [...ACCOUNT_ERRORS, ...ADJUSTMENT_ERRORS[direction]],
      handle: async ({ params, body: { currency, amount, ref, reason }, context }) => {
        const key = await accountOf(params, currency, context);
        const entry = { ref, amount, note: reason };
        const by = requestedBy(context, isoTimeOf(clock));
        const { answer, replayed } = await accounts[direction](key, entry, by);
        return { status: 200, body: rendered(answer), replayed };
      },
    });

  return [
    endpoint({
      method: 'GET',
      path: '/portal/app/:appId/:environment/users/:userId/accounts',
      credential: 'operator',
      summary: "Show a player's funds in one currency, now or at an earlier moment",
      query: z.strictObject({ currency: currencyCode, at: pastMoment.optional() }),
      success: { status: 200, schema: shownBody },
      errors: ACCOUNT_ERRORS,
      handle: async ({ params, query, context }) => {
        const key = await accountOf(params, query.currency, context);
        const at = momentOf(query.at);
        if (!at) return { status: 200, body: rendered(await accounts.figures(key, context)) };
        const { ordinal, position } = await pastPlaceOf(at);
        const funds = await accounts.figuresAt(
          key,
          (event) => store.comparePositions(event.position, position) <= 0,
        );
        return { status: 200, body: { ...rendered(funds), ordinal, position } };
      },
    }),
    adjustment('credit'),
    adjustment('debit'),
  ];
}
