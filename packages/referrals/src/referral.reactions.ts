/**
 * What must follow from the first step of a referral operation even if its request has died. Source: architecture,
 * Processes.
 */

import { accountEvents, accountStreamOf, earningsEntryId, parseAccountStream } from '@coffer/accounts';
import { actDeadlineMs, type Reaction } from '@coffer/consumers';
import type { RecordedEvent } from '@coffer/event-store';
import type { AccountKey } from '@coffer/kernel';
import type { Attributions } from './attributions.ts';
import type { Codes } from './codes.ts';
import type { Commissions } from './commissions.ts';
import { commissionEvents } from './domain/commission.events.ts';
import { accrualsOf, commissionStreamOf } from './domain/commission.ts';
import { earningsEvents } from './domain/earnings.events.ts';
import { parseEarningsStream } from './domain/earnings.ts';
import { referralEvents } from './domain/referral.events.ts';
import { parseReferralStream } from './domain/referral.ts';
import { referralCodeEvents } from './domain/referralCode.events.ts';
import { referralCodeStreamOf } from './domain/referralCode.ts';
import type { Withdrawals } from './withdrawals.ts';

/** A code that was claimed is issued to its user, or given up. */
export function issuesCodes({ issue }: Pick<Codes, 'issue'>): Reaction {
  return {
    name: 'issueCode',
    causeOf(event) {
      if (event.type !== 'CodeClaimed') return undefined;
      referralCodeEvents.decode(event);
      return { key: event.stream, target: event.stream };
    },
    effectOf(event) {
      if (event.type === 'CodeReleased') return event.stream;
      if (event.type !== 'CodeIssued') return undefined;
      const issued = referralEvents.decode(event);
      const user = parseReferralStream(event.stream);
      return user && issued.type === 'CodeIssued'
        ? referralCodeStreamOf({ ...user, code: issued.data.code })
        : undefined;
    },
    async act(cause) {
      await issue(cause, actDeadlineMs());
    },
  };
}

/** An attribution that was begun is made or dropped. */
export function finishesAttributions({ finish }: Pick<Attributions, 'finish'>): Reaction {
  return {
    name: 'finishAttribution',
    causeOf(event) {
      if (event.type !== 'AttributionBegun') return undefined;
      referralEvents.decode(event);
      return { key: event.stream, target: event.stream };
    },
    effectOf: (event) =>
      event.type === 'UserAttributed' || event.type === 'AttributionDropped' ? event.stream : undefined,
    act: (cause) => finish(cause, actDeadlineMs()),
  };
}

/** A payout or a distribution is accrued by all its beneficiaries. */
export function accruesCommissions({ accrueAll }: Pick<Commissions, 'accrueAll'>): Reaction {
  return {
    name: 'accrueCommission',
    causeOf(event) {
      if (event.type !== 'PayoutDecided' && event.type !== 'DistributionDecided') return undefined;
      const accruals = accrualsOf(commissionEvents.decode(event));
      return accruals.length === 0 ? undefined : { key: event.stream, target: event.stream };
    },
    effectOf(event) {
      if (event.type !== 'EarningsAccrued') return undefined;
      const accrued = earningsEvents.decode(event);
      const owner = parseEarningsStream(event.stream);
      if (!owner || accrued.type !== 'EarningsAccrued' || !accrued.data.isLast) return undefined;
      return commissionStreamOf({ ...owner, idemKey: accrued.data.idemKey });
    },
    async act(cause) {
      await accrueAll(cause, actDeadlineMs());
    },
  };
}

/** Earnings that were set aside reach the player's account, or come back. */
export function finishesWithdrawals({ finishWithdrawal }: Pick<Withdrawals, 'finishWithdrawal'>): Reaction {
  return {
    name: 'finishWithdrawal',
    causeOf(event) {
      const key = withdrawalIn(event, 'EarningsWithdrawn');
      return key === undefined ? undefined : { key, target: event.stream };
    },
    effectOf(event) {
      if (event.type === 'WithdrawalReturned') return withdrawalIn(event, 'WithdrawalReturned');
      if (event.type !== 'AccountCredited') return undefined;
      const credited = accountEvents.decode(event);
      const account = parseAccountStream(event.stream);
      if (!account || credited.type !== 'AccountCredited' || credited.data.reason !== 'earnings')
        return undefined;
      return keyOf(account, credited.data.entryId);
    },
    async act(cause) {
      await finishWithdrawal(cause, actDeadlineMs());
    },
  };
}

/** The entry of the player's account that a withdrawal comes to, with the account. */
function withdrawalIn(
  event: RecordedEvent,
  type: 'EarningsWithdrawn' | 'WithdrawalReturned',
): string | undefined {
  if (event.type !== type) return undefined;
  const decoded = earningsEvents.decode(event);
  const owner = parseEarningsStream(event.stream);
  return owner && decoded.type === type ? keyOf(owner, earningsEntryId(decoded.data.idemKey)) : undefined;
}

/** Stream names contain no space. */
const keyOf = (account: AccountKey, entryId: string): string => `${accountStreamOf(account)} ${entryId}`;
