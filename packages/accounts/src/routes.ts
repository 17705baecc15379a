/** A player's funds in each of the app's currencies. Source: contract, Ledger, GET /users/:userId/accounts. */
import type { Deadline } from '@coffer/event-store';
import { type AppCaller, type Endpoint, endpoint } from '@coffer/http';
import { encoderOf, figure } from '@coffer/kernel';
import { z } from 'zod';
import type { Accounts } from './accounts.ts';

export interface AccountRouteDependencies {
  readonly accounts: Pick<Accounts, 'figures'>;
  readonly currencies: (
    appId: string,
  ) =>
    | readonly { readonly id: number; readonly code: string }[]
    | Promise<readonly { readonly id: number; readonly code: string }[]>;
  /** Throws `users/not_found`. */
  readonly requireUser: (
    user: Pick<AppCaller, 'scopeId' | 'environment'> & { readonly userId: string },
    deadline: Deadline,
  ) => Promise<unknown>;
}

const accountList = z.object({
  items: z.array(z.object({ currency: z.string(), currencyId: z.int(), available: figure, held: figure })),
});
const listBody = encoderOf(accountList);

export function accountEndpoints(dependencies: AccountRouteDependencies): readonly Endpoint[] {
  const { accounts, currencies, requireUser } = dependencies;
  return [
    endpoint({
      method: 'GET',
      path: '/users/:userId/accounts',
      credential: 'sk',
      summary: "A player's available and held funds, in each of the app's currencies",
      success: { status: 200, schema: accountList },
      errors: ['users/not_found'],
      handle: async ({ caller, params: { userId }, context }) => {
        await requireUser({ ...caller, userId }, context);
        const items = (await currencies(caller.appId)).map(async ({ id, code }) => {
          const funds = await accounts.figures({ ...caller, userId, currencyId: id }, context);
          return { currency: code, currencyId: id, ...funds };
        });
        return { status: 200, body: listBody({ items: await Promise.all(items) }) };
      },
    }),
  ];
}
