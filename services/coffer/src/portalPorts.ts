/** Gives the operator's admin API the accounts and ledger contexts. */
import type { Accounts } from '@coffer/accounts';
import type { EventStore, Position, RecordedEvent } from '@coffer/event-store';
import type { RequestContext } from '@coffer/http';
import { type Clock, Rejection } from '@coffer/kernel';
import { answerBody, type PlaySessions } from '@coffer/ledger';
import type { PastMoment, PortalAccount, PortalAccounts, PortalPlaySessions } from '@coffer/portal';
import type { Users } from '@coffer/users';
import type { PlaySessionLists } from './playSessionLists.ts';

export function portalAccounts({
  accounts,
  users,
  clock,
  store,
}: {
  readonly accounts: Accounts;
  readonly users: Pick<Users, 'show'>;
  readonly clock: Clock;
  readonly store: Pick<EventStore, 'comparePositions'>;
}): PortalAccounts {
  const keyOf = async (account: PortalAccount, context: RequestContext) => {
    await users.show(account, context);
    const { appId, environment, userId, currency } = account;
    return { appId, environment, userId, currencyId: currency.id };
  };
  const commandContext = ({ requestId, actor, deadlineMs }: RequestContext) => ({
    metadata: { correlationId: requestId, actor, occurredAt: clock().toISOString() },
    deadlineMs,
  });

  return {
    async show({ at, ...account }, context) {
      const key = await keyOf(account, context);
      return at ? accounts.figuresAt(key, beforeOrAt(at, store)) : accounts.figures(key, context);
    },
    async credit({ ref, amount, reason, ...account }, context) {
      const key = await keyOf(account, context);
      return accounts.credit(key, { ref, amount, note: reason }, commandContext(context));
    },
    async debit({ ref, amount, reason, ...account }, context) {
      const key = await keyOf(account, context);
      return accounts.debit(key, { ref, amount, note: reason }, commandContext(context));
    },
  };
}

/** Whether an event had been recorded by the moment. Throws `request/invalid` on what is no position. */
function beforeOrAt(
  at: PastMoment,
  store: Pick<EventStore, 'comparePositions'>,
): (event: RecordedEvent) => boolean {
  if (at.kind === 'time') return ({ recordedAt }) => recordedAt <= at.time;
  // Only the store knows what a position looks like; the comparison with itself tries it.
  const position = at.position as Position;
  try {
    store.comparePositions(position, position);
  } catch {
    const issues = [{ path: 'at', message: 'is neither an ISO 8601 time nor a position of this log' }];
    throw new Rejection('request/invalid', { issues });
  }
  return (event) => store.comparePositions(event.position, position) <= 0;
}

export function portalPlaySessions(playSessions: PlaySessions, list: PlaySessionLists): PortalPlaySessions {
  return {
    list,
    async settle({ sessionId, transactionUuid, ...place }, context) {
      const { answer, replayed } = await playSessions.settle(place, sessionId, transactionUuid, context);
      return { answer: answerBody(answer), replayed };
    },
  };
}
