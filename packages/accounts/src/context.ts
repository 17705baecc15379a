/** Players' funds: what every context that moves money builds on. */
import { defineContext, type Platform, someStream } from '@coffer/host';
import type { AppDirectory, PastPlaceOf } from '@coffer/portal';
import type { Users } from '@coffer/users';
import { createAccounts } from './accounts.ts';
import { booksProjection } from './books.projection.ts';
import { account } from './domain/account.ts';
import { accountsErrors } from './errors.ts';
import { createHoldActs } from './hold.reactions.ts';
import { operatorAccountEndpoints } from './operatorRoutes.ts';
import { accountEndpoints } from './routes.ts';
import { operatorTotalsEndpoints } from './totalsRoute.ts';

export interface AccountsNeeds extends Platform {
  readonly directory: AppDirectory;
  readonly users: Users;
  readonly pastPlaceOf: PastPlaceOf;
}

export const accountsContext = defineContext({
  name: 'accounts',
  errors: accountsErrors,
  streams: [someStream(account)],
  projections: { books: booksProjection },
  create({ pool, handler, store, clock, directory, users, pastPlaceOf }: AccountsNeeds) {
    const accounts = createAccounts({ handler, store });
    const holds = createHoldActs();
    const requireUser = users.show;
    return {
      provides: { accounts, holds },
      endpoints: [
        ...accountEndpoints({ accounts, currencies: directory.currencies, requireUser }),
        ...operatorAccountEndpoints({ directory, accounts, requireUser, clock, store, pastPlaceOf }),
        ...operatorTotalsEndpoints({ pool, directory, pastPlaceOf }),
      ],
      reactions: { holds: [holds.reaction] },
    };
  },
});
