/**
 * What must follow from the first step of an open, a settlement or a late rollback even if the request has died: the
 * hold process carries it out. Source: architecture, Processes; ADR 0006.
 */
import {
  type AccountDue,
  accountStreamOf,
  type HoldAct,
  rollbackEntryId,
  sessionHoldId,
} from '@coffer/accounts';
import { actDeadlineMs } from '@coffer/consumers';
import type { RecordedEvent } from '@coffer/event-store';
import { type PlaySessionEvent, playSessionEvents } from './domain/playSession.events.ts';
import type { PlaySessions } from './playSessions.ts';
import { playSessionPlace } from './sessionStreams.ts';

type CarryOut = Pick<PlaySessions, 'carryOut'>;

/** For holds with the purpose `session`: the open, recorded as `SessionOpened`. */
export function sessionHoldAct({ carryOut }: CarryOut): HoldAct {
  return {
    holdOf(event: RecordedEvent) {
      const opened = decodedAs(event, 'SessionOpened');
      return opened && holdPlace(event, opened.data);
    },
    async act(held: RecordedEvent): Promise<void> {
      await carryOut.open(held, actDeadlineMs());
    },
  };
}

/** What sessions owe to accounts: the payout of a settlement, the stake of a late rollback. */
export function sessionDues({ carryOut }: CarryOut): readonly AccountDue[] {
  return [
    {
      name: 'payOutSession',
      dueOf(event: RecordedEvent) {
        const settled = decodedAs(event, 'SessionSettled');
        return settled && holdPlace(event, settled.data);
      },
      act: (cause: RecordedEvent) => carryOut.close(cause, actDeadlineMs()),
    },
    {
      name: 'creditLateRollback',
      dueOf(event: RecordedEvent) {
        const rolledBack = decodedAs(event, 'BetRolledBack');
        if (!rolledBack) return undefined;
        const { transactionUuid, amount, late } = rolledBack.data;
        // What moves nothing creates no due.
        if (!late || amount === 0n) return undefined;
        const { environment, appId, sessionId } = playSessionPlace(event.stream);
        const account = accountStreamOf({ environment, appId, ...late });
        return { account, entryId: rollbackEntryId(sessionId, transactionUuid) };
      },
      act: (cause: RecordedEvent) => carryOut.creditLateRollback(cause, actDeadlineMs()),
    },
  ];
}

function holdPlace(
  { stream }: RecordedEvent,
  { userId, currencyId }: { readonly userId: string; readonly currencyId: number },
) {
  const { environment, appId, sessionId } = playSessionPlace(stream);
  const account = accountStreamOf({ environment, appId, userId, currencyId });
  return { account, holdId: sessionHoldId(sessionId) };
}

/** Most events in the log are bets, so the type is checked before anything is decoded. */
function decodedAs<Type extends PlaySessionEvent['type']>(event: RecordedEvent, type: Type) {
  if (event.type !== type) return undefined;
  return playSessionEvents.decode(event) as Extract<PlaySessionEvent, { type: Type }>;
}
