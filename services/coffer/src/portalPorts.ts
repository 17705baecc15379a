/** Gives the operator's admin API the accounts. */
import { type Accounts, ADJUSTMENT_ERRORS } from '@coffer/accounts';
import { type EventStore, type Position, type RecordedEvent, requestedBy } from '@coffer/event-store';
import type { RequestContext } from '@coffer/http';
import { type Clock, isoTimeOf } from '@coffer/kernel';
import type { PortalAccount, PortalAccounts } from '@coffer/portal';
import type { Users } from '@coffer/users';
import type { PastPlaceOf } from './pastPlace.ts';

export function portalAccounts({
  accounts,
  users,
  clock,
  store,
  pastPlaceOf,
}: {
  readonly accounts: Accounts;
  readonly users: Pick<Users, 'show'>;
  readonly clock: Clock;
  readonly store: Pick<EventStore, 'comparePositions'>;
  readonly pastPlaceOf: PastPlaceOf;
}): PortalAccounts {
  const keyOf = async (account: PortalAccount, context: RequestContext) => {
    await users.show(account, context);
    const { appId, environment, userId, currency } = account;
    return { appId, environment, userId, currencyId: currency.id };
  };

  return {
    errors: ADJUSTMENT_ERRORS,
    async show({ at, ...account }, context) {
      const key = await keyOf(account, context);
      if (!at) return accounts.figures(key, context);
      const place = await pastPlaceOf(at);
      return { ...(await accounts.figuresAt(key, isUpTo(place.position, store))), ...place };
    },
    async credit({ ref, amount, reason, ...account }, context) {
      const key = await keyOf(account, context);
      return accounts.credit(key, { ref, amount, note: reason }, commandContextOf(context, clock));
    },
    async debit({ ref, amount, reason, ...account }, context) {
      const key = await keyOf(account, context);
      return accounts.debit(key, { ref, amount, note: reason }, commandContextOf(context, clock));
    },
  };
}

/** The context of the command that a request is. */
export const commandContextOf = (request: RequestContext, clock: Clock) =>
  requestedBy(request, isoTimeOf(clock));

/** Whether an event stands at the position or before it. */
function isUpTo(
  position: Position,
  store: Pick<EventStore, 'comparePositions'>,
): (event: RecordedEvent) => boolean {
  return (event) => store.comparePositions(event.position, position) <= 0;
}
