/** What the books hold of referral earnings. Source: contract, Money model. */
import assert from 'node:assert/strict';
import { decodeMetadata } from '@coffer/kernel';
import type { OtherPostings } from '@coffer/read-models';
import { earningsEvents } from './domain/earnings.events.ts';
import { parseEarningsStream } from './domain/earnings.ts';

/** The house owes what accrues. A withdrawal is posted by the player's account, once the money is there. */
export const earningsPostings: OtherPostings = (recorded) => {
  if (recorded.type !== 'EarningsAccrued') return undefined;
  const owner = parseEarningsStream(recorded.stream);
  if (!owner) return undefined;
  const event = earningsEvents.decode(recorded);
  assert(event.type === 'EarningsAccrued');
  const { idemKey, amount } = event.data;
  const { appId, environment, currencyId } = owner;
  return {
    appId,
    environment,
    currencyId,
    subject: `commission:${idemKey}`,
    occurredAt: decodeMetadata(recorded.metadata).occurredAt,
    postings: [
      { account: 'house', amount: -amount },
      { account: 'referrals', amount },
    ],
  };
};
