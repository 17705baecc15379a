/** What the model is given for an event, so that it follows the log. */
import assert from 'node:assert/strict';
import { type AccountEvent, account, accountEvents, parseAccountStream } from '@coffer/accounts';
import { poolEvents } from '@coffer/custody/testing';
import { parseStreamName, type StoredEvent } from '@coffer/kernel';
import {
  commissionEvents,
  earningsEvents,
  parseEarningsStream,
  referralEvents,
} from '@coffer/referrals/testing';
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

/** Whose a stake is, by the pool's stream and the stake's number: the end of a pool names only the number. */
export type KnownStakes = Map<string, { readonly betId: string; readonly userId: string }>;

/**
 * Undefined for an event of another context. Throws for an event of the ledger or of a pool that it does not know.
 * Stakes are added as their locks are met.
 */
export function logOperationOf(
  event: StreamedEvent,
  currencyCode: (currencyId: number) => string,
  stakes: KnownStakes,
): LogOperation | undefined {
  const name = parseStreamName(event.stream);
  if (name?.category === playSession.category) {
    const decoded = playSessionEvents.decode(event);
    return { kind: 'operation', operation: sessionOperation(name.id, decoded) };
  }
  if (name?.category === 'pool') {
    return { kind: 'operation', operation: poolOperation(name.id, event, stakes) };
  }
  if (name && REFERRALS.has(name.category)) return referralOperation(name.id, event);
  if (name?.category !== account.category) return undefined;
  const place = parseAccountStream(event.stream);
  assert(place, `${event.stream} names an account`);
  const { userId, currencyId } = place;
  const owner = { userId, currency: currencyCode(currencyId), currencyId };
  return accountOperation(owner, accountEvents.decode(event));
}

interface Owner {
  readonly userId: string;
  readonly currency: string;
  readonly currencyId: number;
}

const heldRequest = z.object({
  sessionId: z.string(),
  gameCode: z.string(),
  openedAt: z.string(),
  transactionUuid: z.string().optional(),
});

function accountOperation(owner: Owner, event: AccountEvent): LogOperation {
  const { currencyId: _, ...named } = owner;
  switch (event.type) {
    case 'AccountCredited':
    case 'AccountDebited': {
      const { entryId, amount, reason, note } = event.data;
      if (event.type === 'AccountCredited' && reason === 'rollback') {
        const [sessionId = '', transactionUuid = ''] = entryId.slice('rollback:'.length).split('/');
        return { kind: 'step', operation: { op: 'creditRollback', sessionId, transactionUuid } };
      }
      if (event.type === 'AccountCredited' && reason === 'earnings') {
        const idemKey = entryId.slice('earnings:'.length);
        return { kind: 'step', operation: { op: 'creditEarnings', ...named, idemKey } };
      }
      assert.equal(reason, 'adjustment', 'the ledger and its operator make no other entries');
      const op = event.type === 'AccountCredited' ? 'credit' : 'debit';
      const ref = entryId.slice('adjust:'.length);
      const words = note === undefined ? {} : { reason: note };
      return { kind: 'operation', operation: { op, ...named, ref, amount: `${amount}`, ...words } };
    }
    case 'FundsHeld': {
      if (event.data.purpose === 'stake') {
        const { poolId, betId, lockedAt, confirmBy } = heldStake.parse(event.data.request);
        const { currencyId } = owner;
        const chosen = { lockedAt, confirmBy };
        const amount = `${event.data.amount}`;
        const terms = { poolId, betId, userId: owner.userId, currencyId, amount, chosen };
        return { kind: 'step', operation: { op: 'holdStake', ...terms } };
      }
      const { sessionId, openedAt, ...rest } = heldRequest.parse(event.data.request);
      const lockAmount = `${event.data.amount}`;
      const chosen = { sessionId, openedAt };
      return { kind: 'step', operation: { op: 'hold', ...named, ...rest, lockAmount, chosen } };
    }
    case 'HoldClosed': {
      if (event.data.holdId.startsWith('stake:')) {
        const [poolId = '', betId = ''] = event.data.holdId.slice('stake:'.length).split('/');
        return { kind: 'step', operation: { op: 'closeStake', ...named, poolId, betId } };
      }
      const sessionId = event.data.holdId.slice('session:'.length);
      return { kind: 'step', operation: { op: 'closeHold', ...named, sessionId } };
    }
  }
}

const heldStake = z.object({
  poolId: z.string(),
  betId: z.string(),
  lockedAt: z.string(),
  confirmBy: z.string(),
});

function poolOperation(poolId: string, stored: StreamedEvent, stakes: KnownStakes): Operation {
  const event = poolEvents.decode(stored);
  const keyOf = (stake: number) => `${stored.stream} ${stake}`;
  switch (event.type) {
    case 'StakeLocked': {
      const { stake, betId, userId, currencyId, amount, lockedAt, confirmBy } = event.data;
      stakes.set(keyOf(stake), { betId, userId });
      const chosen = { lockedAt, confirmBy };
      return { op: 'lock', poolId, betId, userId, currencyId, amount: `${amount}`, chosen };
    }
    case 'StakeConfirmed':
      return { op: 'confirm', poolId, betId: event.data.betId };
    case 'PoolSettled': {
      const { currencyId, rake, payouts } = event.data;
      const named = payouts.map(([stake, amount]) => {
        const { betId, userId } = stakes.get(keyOf(stake)) ?? assert.fail(`${stake} was never locked`);
        return { betId, userId, payout: `${amount}` };
      });
      return { op: 'settlePool', poolId, currencyId, rake: `${rake}`, payouts: named };
    }
    case 'PoolRefunded': {
      const { reason } = event.data;
      return { op: 'refundPool', poolId, ...(reason === undefined ? {} : { reason }) };
    }
    case 'StakeReleased':
      throw new Error('not taught: nothing here waits until a stake is overdue');
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

const REFERRALS: ReadonlySet<string> = new Set(['referral', 'commission', 'earnings']);

/** A code is its user's, and an attribution made, by the event that the request waits for; what precedes it is left out. */
function referralOperation(id: string, stored: StreamedEvent): LogOperation | undefined {
  const owner = parseEarningsStream(stored.stream);
  if (owner) return earningsOperation(owner, stored);
  if (stored.stream.startsWith('commission-')) return commissionOperation(stored);
  const event = referralEvents.decode(stored);
  if (event.type === 'CodeIssued') {
    return { kind: 'operation', operation: { op: 'code', userId: id, code: event.data.code } };
  }
  if (event.type !== 'UserAttributed') return undefined;
  return { kind: 'operation', operation: { op: 'attribute', userId: id, code: event.data.code } };
}

function commissionOperation(stored: StreamedEvent): LogOperation {
  const event = commissionEvents.decode(stored);
  switch (event.type) {
    case 'PayoutDecided':
      return { kind: 'step', operation: { op: 'takeKey', ...event.data, amount: `${event.data.amount}` } };
    case 'DistributionDecided': {
      const { distributed: _, withheld: _none, amount, ...rest } = event.data;
      return { kind: 'operation', operation: { op: 'distribute', ...rest, amount: `${amount}` } };
    }
    case 'WithdrawalDecided': {
      const { idemKey, userId, currencyId, requested } = event.data;
      const asked = requested === undefined ? {} : { amount: `${requested}` };
      return { kind: 'operation', operation: { op: 'withdraw', idemKey, userId, currencyId, ...asked } };
    }
  }
}

function earningsOperation(
  { userId, currencyId }: { readonly userId: string; readonly currencyId: number },
  stored: StreamedEvent,
): LogOperation {
  const event = earningsEvents.decode(stored);
  const { idemKey } = event.data;
  const own = { idemKey, userId, currencyId };
  switch (event.type) {
    case 'EarningsAccrued': {
      const { kind, level, sourceUserId, memo } = event.data;
      const amount = `${event.data.amount}`;
      const source = sourceUserId === undefined ? {} : { sourceUserId };
      if (kind === 'distribution') {
        return { kind: 'step', operation: { op: 'accrue', ...own, amount, level, ...source } };
      }
      const words = memo === undefined ? {} : { memo };
      return { kind: 'operation', operation: { op: 'payout', ...own, amount, ...source, ...words } };
    }
    case 'EarningsWithdrawn': {
      const { requested } = event.data;
      const asked = requested === undefined ? {} : { amount: `${requested}` };
      return { kind: 'step', operation: { op: 'setAside', ...own, ...asked } };
    }
    case 'WithdrawalReturned':
      return { kind: 'step', operation: { op: 'putBack', ...own } };
  }
}
