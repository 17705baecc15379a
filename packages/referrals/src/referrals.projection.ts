/** The rows of referrals. Source: contract, Referrals. */
import assert from 'node:assert/strict';
import type { RecordedEvent } from '@coffer/event-store';
import { decodeMetadata } from '@coffer/kernel';
import type {
  CommissionRow,
  EarningsEntryRow,
  EarningsRow,
  RefereeRow,
  ReferralsProjection,
} from '@coffer/read-models';
import { type CommissionEvent, commissionEvents } from './domain/commission.events.ts';
import { accrualsOf, commissionPlaceOf } from './domain/commission.ts';
import { type EarningsEvent, earningsEvents } from './domain/earnings.events.ts';
import { accrualKey, withdrawalKey } from './domain/earnings.state.ts';
import { parseEarningsStream } from './domain/earnings.ts';
import { referralEvents } from './domain/referral.events.ts';
import { parseReferralStream } from './domain/referral.ts';

// Most events in the log are bets, which can be told apart without parsing.
const isOf =
  (category: string) =>
  ({ stream }: RecordedEvent): boolean =>
    stream.startsWith(`${category}-`);
const isEarnings = isOf('earnings');
const isCommission = isOf('commission');

export const referralsProjection: ReferralsProjection = {
  refereeOf,
  commissions: {
    keyOf: (event) => (isCommission(event) ? event.stream : undefined),
    evolve: (row, event) => {
      assert(!row, `${event.stream} has one event`);
      return commissionOf(event);
    },
  },
  earnings: {
    keyOf: (event) => (isEarnings(event) ? event.stream : undefined),
    evolve: earningsAfter,
  },
  earningsEntryOf,
};

function refereeOf(recorded: RecordedEvent): RefereeRow | undefined {
  if (recorded.type !== 'UserAttributed') return undefined;
  const user = parseReferralStream(recorded.stream);
  if (!user) return undefined;
  const event = referralEvents.decode(recorded);
  assert(event.type === 'UserAttributed');
  const { referrerUserId } = event.data;
  return { stream: recorded.stream, ...user, referrerUserId, attributedAt: timeOf(recorded) };
}

function commissionOf(recorded: RecordedEvent): CommissionRow {
  const { stream, revision } = recorded;
  const event = commissionEvents.decode(recorded);
  const { userId, currencyId } = event.data;
  const accruals = accrualsOf(event);
  return {
    stream,
    revision,
    ...commissionPlaceOf(stream),
    kind: KIND_OF[event.type],
    userId,
    currencyId,
    amount:
      event.type === 'WithdrawalDecided'
        ? event.data.amount
        : accruals.reduce((sum, { amount }) => sum + amount, 0n),
    accruals: accruals.length,
  };
}

const KIND_OF: Readonly<Record<CommissionEvent['type'], CommissionRow['kind']>> = {
  PayoutDecided: 'payout',
  DistributionDecided: 'distribution',
  WithdrawalDecided: 'withdrawal',
};

function earningsAfter(row: EarningsRow | undefined, recorded: RecordedEvent): EarningsRow {
  const { stream, revision } = recorded;
  const event = earningsEvents.decode(recorded);
  const { accrued, withdrawn } = row ?? { accrued: 0n, withdrawn: 0n };
  const after = {
    accrued: accrued + (event.type === 'EarningsAccrued' ? event.data.amount : 0n),
    withdrawn: withdrawn + WITHDRAWN_BY[event.type] * event.data.amount,
  };
  // From the event itself, so that a row that differs from its log is noticed here.
  if (event.type !== 'WithdrawalReturned') assert.equal(after.accrued - after.withdrawn, event.data.balance);
  return { stream, revision, ...ownerOf(recorded), ...after };
}

const WITHDRAWN_BY: Readonly<Record<EarningsEvent['type'], bigint>> = {
  EarningsAccrued: 0n,
  EarningsWithdrawn: 1n,
  WithdrawalReturned: -1n,
};

function earningsEntryOf(recorded: RecordedEvent): EarningsEntryRow | undefined {
  if (!isEarnings(recorded)) return undefined;
  const { stream } = recorded;
  const event = earningsEvents.decode(recorded);
  const { idemKey, amount } = event.data;
  const entry = {
    stream,
    ...ownerOf(recorded),
    idemKey,
    amount,
    level: null,
    sourceUserId: null,
    memo: null,
    occurredAt: timeOf(recorded),
  };
  if (event.type !== 'EarningsAccrued') {
    const status = event.type === 'WithdrawalReturned' ? 'returned' : 'booked';
    return { ...entry, entry: `${stream} ${withdrawalKey(idemKey)}`, kind: 'withdrawal', status };
  }
  const { kind, level = null, sourceUserId = null, memo = null } = event.data;
  const key = `${stream} ${accrualKey(idemKey)}`;
  return { ...entry, entry: key, kind, status: 'booked', level, sourceUserId, memo };
}

function ownerOf({ stream }: RecordedEvent) {
  const owner = parseEarningsStream(stream);
  assert(owner, `${stream} holds somebody's earnings`);
  return owner;
}

const timeOf = ({ metadata }: RecordedEvent): string => decodeMetadata(metadata).occurredAt;
