/** What the model is given for an event, so that it follows the log. */
import assert from 'node:assert/strict';
import { type AccountEvent, account, accountEvents, parseAccountStream } from '@coffer/accounts';
import { parseStreamName, type StoredEvent } from '@coffer/kernel';
import { z } from 'zod';
import { type PlaySessionEvent, playSessionEvents } from '../domain/playSession.events.ts';
import { playSession } from '../domain/playSession.ts';
import type { Operation, Step } from './operations.ts';

interface StreamedEvent extends StoredEvent {
  readonly stream: string;
}

type LogOperation =
  /** What a caller asked for. */
  | { readonly kind: 'operation'; readonly operation: Operation }
  /** What moves the money of such an operation. */
  | { readonly kind: 'step'; readonly operation: Step };

/** Undefined for an event of another context. Throws for an event of the ledger that it does not know. */
export function logOperationOf(
  event: StreamedEvent,
  currencyCode: (currencyId: number) => string,
): LogOperation | undefined {
  const name = parseStreamName(event.stream);
  if (name?.category === playSession.category) {
    const decoded = playSessionEvents.decode(event);
    return { kind: 'operation', operation: sessionOperation(name.id, decoded) };
  }
  if (name?.category !== account.category) return undefined;
  const place = parseAccountStream(event.stream);
  assert(place, `${event.stream} names an account`);
  const owner = { userId: place.userId, currency: currencyCode(place.currencyId) };
  return accountOperation(owner, accountEvents.decode(event));
}

interface Owner {
  readonly userId: string;
  readonly currency: string;
}

const heldRequest = z.object({
  sessionId: z.string(),
  gameCode: z.string(),
  openedAt: z.string(),
  transactionUuid: z.string().optional(),
});

function accountOperation(owner: Owner, event: AccountEvent): LogOperation {
  switch (event.type) {
    case 'AccountCredited':
    case 'AccountDebited': {
      const { entryId, amount, reason, note } = event.data;
      if (event.type === 'AccountCredited' && reason === 'rollback') {
        const [sessionId = '', transactionUuid = ''] = entryId.slice('rollback:'.length).split('/');
        return { kind: 'step', operation: { op: 'creditRollback', sessionId, transactionUuid } };
      }
      assert.equal(reason, 'adjustment', 'the ledger and its operator make no other entries');
      const op = event.type === 'AccountCredited' ? 'credit' : 'debit';
      const ref = entryId.slice('adjust:'.length);
      const words = note === undefined ? {} : { reason: note };
      return { kind: 'operation', operation: { op, ...owner, ref, amount: `${amount}`, ...words } };
    }
    case 'FundsHeld': {
      const { sessionId, openedAt, ...rest } = heldRequest.parse(event.data.request);
      const lockAmount = `${event.data.amount}`;
      const chosen = { sessionId, openedAt };
      return { kind: 'step', operation: { op: 'hold', ...owner, ...rest, lockAmount, chosen } };
    }
    case 'HoldClosed': {
      const sessionId = event.data.holdId.slice('session:'.length);
      return { kind: 'step', operation: { op: 'closeHold', ...owner, sessionId } };
    }
  }
}

function sessionOperation(id: string, event: PlaySessionEvent): Operation {
  switch (event.type) {
    case 'SessionOpened': {
      const { sessionId: _, currencyId: _id, openedAt, lockAmount, ...terms } = event.data;
      return { op: 'open', ...terms, lockAmount: `${lockAmount}`, chosen: { sessionId: id, openedAt } };
    }
    case 'BetPlaced': {
      const { balance: _, amount, ...write } = event.data;
      return { op: 'bet', sessionId: id, ...write, amount: `${amount}` };
    }
    case 'WinCredited': {
      const { balance: _, amount, ...write } = event.data;
      return { op: 'win', sessionId: id, ...write, amount: `${amount}` };
    }
    case 'BetRolledBack':
    case 'RollbackRemembered': {
      const { transactionUuid, betTransactionUuid } = event.data;
      return { op: 'rollback', sessionId: id, transactionUuid, betTransactionUuid };
    }
    case 'SessionSettled': {
      const { transactionUuid, settledAt } = event.data;
      return { op: 'settle', sessionId: id, transactionUuid, chosen: { settledAt } };
    }
  }
}
