/**
 * What must follow from the first step of an open, a settlement and a late rollback, should the request that
 * began them have died: the hold process carries it out. Source: architecture, Processes; ADR 0006.
 */
import type { RecordedEvent } from '@coffer/event-store';
import { type PlaySessionEvent, playSessionEvents } from './domain/playSession.events.ts';
import type { PlayerAccount, RollbackEntryId, SessionHoldId } from './funds.ts';
import { type PlaySessions, playSessionPlace } from './playSessions.ts';

/** How long one attempt of the process may take; it tries again. */
const ACT_WITHIN_MS = 10_000;
const deadline = () => performance.now() + ACT_WITHIN_MS;

export interface ReactionDependencies {
  /** The stream of a player's account. */
  readonly accountStreamOf: (account: PlayerAccount) => string;
  readonly carryOut: PlaySessions['carryOut'];
}

/** For holds of purpose `session`: the open, which shows as `SessionOpened`. */
export function sessionHoldAct({ accountStreamOf, carryOut }: ReactionDependencies) {
  return {
    holdOf(event: RecordedEvent) {
      const opened = decodedAs(event, 'SessionOpened');
      return opened && holdPlace(event, opened.data, accountStreamOf);
    },
    async act(held: RecordedEvent): Promise<void> {
      await carryOut.open(held, deadline());
    },
  };
}

/** What sessions owe to accounts: the payout of a settlement, the stake of a late rollback. */
export function sessionDues({ accountStreamOf, carryOut }: ReactionDependencies) {
  return [
    {
      name: 'payOutSession',
      dueOf(event: RecordedEvent) {
        const settled = decodedAs(event, 'SessionSettled');
        return settled && holdPlace(event, settled.data, accountStreamOf);
      },
      act: (cause: RecordedEvent) => carryOut.close(cause, deadline()),
    },
    {
      name: 'creditLateRollback',
      dueOf(event: RecordedEvent) {
        const rolledBack = decodedAs(event, 'BetRolledBack');
        if (!rolledBack) return undefined;
        const { transactionUuid, amount, late } = rolledBack.data;
        // What moves nothing makes no due.
        if (!late || amount === 0n) return undefined;
        const { environment, appId, sessionId } = playSessionPlace(event.stream);
        const entryId: RollbackEntryId = `rollback:${sessionId}/${transactionUuid}`;
        const account = accountStreamOf({ environment, appId, ...late });
        return { account, entryId };
      },
      act: (cause: RecordedEvent) => carryOut.creditLateRollback(cause, deadline()),
    },
  ];
}

function holdPlace(
  { stream }: RecordedEvent,
  { userId, currencyId }: { readonly userId: string; readonly currencyId: number },
  accountStreamOf: ReactionDependencies['accountStreamOf'],
) {
  const { environment, appId, sessionId } = playSessionPlace(stream);
  const holdId: SessionHoldId = `session:${sessionId}`;
  return { account: accountStreamOf({ environment, appId, userId, currencyId }), holdId };
}

/** Most events of the log are bets: the type is looked at before anything is decoded. */
function decodedAs<Type extends PlaySessionEvent['type']>(event: RecordedEvent, type: Type) {
  if (event.type !== type) return undefined;
  return playSessionEvents.decode(event) as Extract<PlaySessionEvent, { type: Type }>;
}
