/** Whom and what a request is about, checked before anything else. Source: contract, Common rules (order of checks). */
import type { Deadline } from '@coffer/event-store';
import type { AppPlace } from '@coffer/kernel';
import type { AppDirectory } from '@coffer/portal';
import type { Users } from '@coffer/users';
import type { Commissions, EarningsFigures } from './commissions.ts';
import { reject } from './errors.ts';

export interface SubjectDependencies {
  readonly directory: Pick<AppDirectory, 'currencies' | 'currencyById'>;
  readonly users: Pick<Users, 'show'>;
  readonly commissions: Pick<Commissions, 'figures'>;
}

export type Subjects = ReturnType<typeof createSubjects>;

export function createSubjects({ directory, users, commissions }: SubjectDependencies) {
  return { requireUser, requireUserAndCurrency, balancesOf };

  /** Throws `users/not_found`. */
  async function requireUser(
    { environment, scopeId }: AppPlace,
    userId: string,
    deadline: Deadline,
  ): Promise<void> {
    await users.show({ environment, scopeId, userId }, deadline);
  }

  /** Throws `users/not_found`, `referrals/unknown_currency`. */
  async function requireUserAndCurrency(
    place: AppPlace,
    { userId, currency }: { readonly userId: string; readonly currency: number },
    deadline: Deadline,
  ): Promise<void> {
    await requireUser(place, userId, deadline);
    if (!(await directory.currencyById(place.appId, currency))) throw reject('referrals/unknown_currency');
  }

  /** In the app's currencies in which the user has earned anything. */
  async function balancesOf(
    place: AppPlace,
    userId: string,
    deadline: Deadline,
  ): Promise<readonly ({ readonly currency: number } & EarningsFigures)[]> {
    const all = await Promise.all(
      (await directory.currencies(place.appId)).map(async ({ id: currencyId }) => ({
        currency: currencyId,
        ...(await commissions.figures(place, { userId, currencyId }, deadline)),
      })),
    );
    return all.filter(({ accrued }) => accrued > 0n);
  }
}
