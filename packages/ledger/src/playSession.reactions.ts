/**
 * What must follow from the first step of an open, a settlement and a late rollback, should the request that
 * began them have died: the hold process carries it out. Source: architecture, Processes; ADR 0006.
 */
import type { RecordedEvent } from '@coffer/event-store';
import { playSessionEvents } from './domain/playSession.events.ts';
import type { Funds, LateCredit, PlayerAccount, SessionHold } from './funds.ts';
import { type PlaySessions, playSessionPlace } from './playSessions.ts';

/** As the process runner takes it. */
export interface LedgerReaction {
  readonly name: string;
  readonly causeOf: (event: RecordedEvent) => { readonly key: string; readonly target: string } | undefined;
  readonly effectOf: (event: RecordedEvent) => string | undefined;
  readonly act: (cause: RecordedEvent) => Promise<void>;
}

/** How long one attempt of the process may take; it tries again. */
const ACT_WITHIN_MS = 10_000;
const deadline = () => performance.now() + ACT_WITHIN_MS;

export function playSessionReactions(
  funds: Pick<Funds, 'opened' | 'closed' | 'credited'>,
  carryOut: PlaySessions['carryOut'],
): readonly LedgerReaction[] {
  return [
    {
      name: 'open',
      causeOf: (event) => awaiting(event, holdKey(funds.opened(event))),
      // Opened with this hold, or lost to another account's and given back.
      effectOf: (event) => holdKey(sessionOpened(event)) ?? holdKey(funds.closed(event)),
      act: async (cause) => {
        await carryOut.open(cause, deadline());
      },
    },
    {
      name: 'close',
      causeOf: (event) => awaiting(event, holdKey(sessionSettled(event))),
      effectOf: (event) => holdKey(funds.closed(event)),
      act: (cause) => carryOut.close(cause, deadline()),
    },
    {
      name: 'creditLateRollback',
      causeOf: (event) => awaiting(event, creditKey(lateRollback(event))),
      effectOf: (event) => creditKey(funds.credited(event)),
      act: (cause) => carryOut.creditLateRollback(cause, deadline()),
    },
  ];
}

/** Acts are kept in order for the stream of their cause. */
function awaiting(event: RecordedEvent, key: string | undefined) {
  return key === undefined ? undefined : { key, target: event.stream };
}

function holdKey(hold: SessionHold | undefined): string | undefined {
  return hold && `${accountKey(hold.account)} ${hold.holdId}`;
}

function creditKey(credit: LateCredit | undefined): string | undefined {
  return credit && `${accountKey(credit.account)} ${credit.entryId}`;
}

function accountKey({ environment, appId, userId, currencyId }: PlayerAccount): string {
  return `${environment}.${appId}.${userId}.${currencyId}`;
}

function sessionOpened(event: RecordedEvent): SessionHold | undefined {
  if (event.type !== 'SessionOpened') return undefined;
  const decoded = playSessionEvents.decode(event);
  return decoded.type === 'SessionOpened' ? holdOf(event, decoded.data) : undefined;
}

function sessionSettled(event: RecordedEvent): SessionHold | undefined {
  if (event.type !== 'SessionSettled') return undefined;
  const decoded = playSessionEvents.decode(event);
  return decoded.type === 'SessionSettled' ? holdOf(event, decoded.data) : undefined;
}

function holdOf(
  { stream }: RecordedEvent,
  { userId, currencyId }: { readonly userId: string; readonly currencyId: number },
): SessionHold {
  const { environment, appId, sessionId } = playSessionPlace(stream);
  return { account: { environment, appId, userId, currencyId }, holdId: `session:${sessionId}` };
}

function lateRollback(event: RecordedEvent): LateCredit | undefined {
  if (event.type !== 'BetRolledBack') return undefined;
  const decoded = playSessionEvents.decode(event);
  if (decoded.type !== 'BetRolledBack' || !decoded.data.late) return undefined;
  const { environment, appId, sessionId } = playSessionPlace(event.stream);
  return {
    account: { environment, appId, ...decoded.data.late },
    entryId: `rollback:${sessionId}/${decoded.data.transactionUuid}`,
  };
}
