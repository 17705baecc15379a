/**
 * What a user has earned by referrals in one currency: accrued against the house, withdrawn to the available funds.
 * Source: contract, Referrals.
 */
import assert from 'node:assert/strict';
import {
  type AccountKey,
  accountKeyedStream,
  type Decision,
  MAX_AMOUNT,
  parseAccountKeyed,
  type StreamType,
} from '@coffer/kernel';
import { reject } from '../errors.ts';
import { type EarningsEvent, earningsEvents } from './earnings.events.ts';
import { decodeEarnings, encodeEarnings } from './earnings.snapshot.ts';
import {
  accrualKey,
  balanceOf,
  type Earnings,
  type EarningsEntry,
  initialState,
  withdrawalKey,
} from './earnings.state.ts';

const CATEGORY = 'earnings';

export const earningsStreamOf = (key: AccountKey): string => accountKeyedStream(CATEGORY, key);

/** Whose earnings a stream holds, or undefined for any other stream. */
export const parseEarningsStream = (stream: string): AccountKey | undefined =>
  parseAccountKeyed(CATEGORY, stream);

type AccruedData = Extract<EarningsEvent, { type: 'EarningsAccrued' }>['data'];

export type EarningsCommand =
  | ({ readonly type: 'Accrue' } & Omit<AccruedData, 'balance'>)
  | { readonly type: 'Withdraw'; readonly idemKey: string; readonly requested: bigint | undefined }
  | { readonly type: 'ReturnWithdrawal'; readonly idemKey: string };

/** What the command moved and what is left after it, in a repeat as in the first answer. */
export interface EarningsAnswer {
  readonly amount: bigint;
  readonly balance: bigint;
  readonly revision: number;
}

type EarningsDecision = Decision<EarningsEvent, EarningsAnswer>;

function decide(earnings: Earnings, command: EarningsCommand): EarningsDecision {
  switch (command.type) {
    case 'Accrue':
      return accrue(earnings, command);
    case 'Withdraw':
      return withdraw(earnings, command.idemKey, command.requested);
    case 'ReturnWithdrawal':
      return giveBack(earnings, command.idemKey);
  }
}

function accrue(
  earnings: Earnings,
  { type: _type, ...content }: Extract<EarningsCommand, { type: 'Accrue' }>,
): EarningsDecision {
  const { idemKey, amount } = content;
  assert(amount > 0n, 'an accrual moves something');
  const seen = earnings.entries.get(accrualKey(idemKey));
  if (seen) {
    assert(seen.amount === amount, `${idemKey} is one accrual`);
    return { events: [], answer: answerOf(seen), replayed: true };
  }
  const balance = balanceOf(earnings) + amount;
  return {
    events: [{ type: 'EarningsAccrued', data: { ...content, balance } }],
    answer: { amount, balance, revision: earnings.revision + 1 },
  };
}

function withdraw(earnings: Earnings, idemKey: string, requested: bigint | undefined): EarningsDecision {
  const seen = earnings.entries.get(withdrawalKey(idemKey));
  if (seen) {
    if (seen.kind !== 'withdrawal')
      throw reject('referrals/idempotency_conflict', { key: idemKey, field: 'operation' });
    if (seen.requested !== requested)
      throw reject('referrals/idempotency_conflict', { key: idemKey, field: 'amount' });
    return { events: [], answer: answerOf(seen), replayed: true };
  }
  const owed = balanceOf(earnings);
  if (owed === 0n || (requested !== undefined && requested > owed)) {
    throw reject('referrals/insufficient_earnings', { balance: owed, amount: requested ?? null });
  }
  const amount = requested ?? (owed < MAX_AMOUNT ? owed : MAX_AMOUNT);
  const balance = owed - amount;
  const asked = requested === undefined ? {} : { requested };
  return {
    events: [{ type: 'EarningsWithdrawn', data: { idemKey, ...asked, amount, balance } }],
    answer: { amount, balance, revision: earnings.revision + 1 },
  };
}

function giveBack(earnings: Earnings, idemKey: string): EarningsDecision {
  const seen = earnings.entries.get(withdrawalKey(idemKey));
  assert(seen, `${idemKey} was withdrawn`);
  if (seen.kind === 'returned') return { events: [], answer: answerOf(seen), replayed: true };
  const { amount } = seen;
  return {
    events: [{ type: 'WithdrawalReturned', data: { idemKey, amount } }],
    answer: { amount, balance: balanceOf(earnings) + amount, revision: earnings.revision + 1 },
  };
}

const answerOf = ({ amount, balance, revision }: EarningsEntry): EarningsAnswer => ({
  amount,
  balance,
  revision,
});

function evolve(earnings: Earnings, event: EarningsEvent): Earnings {
  const revision = earnings.revision + 1;
  switch (event.type) {
    case 'EarningsAccrued': {
      const { idemKey, amount, balance } = event.data;
      assert(!earnings.entries.has(accrualKey(idemKey)), 'a key accrues once');
      assert.equal(balance, balanceOf(earnings) + amount);
      const entry: EarningsEntry = { kind: 'accrual', amount, requested: undefined, balance, revision };
      return {
        ...earnings,
        revision,
        accrued: earnings.accrued + amount,
        entries: earnings.entries.set(accrualKey(idemKey), entry),
      };
    }
    case 'EarningsWithdrawn': {
      const { idemKey, amount, requested, balance } = event.data;
      assert(!earnings.entries.has(withdrawalKey(idemKey)), 'a key withdraws once');
      assert.equal(balance, balanceOf(earnings) - amount);
      const entry: EarningsEntry = { kind: 'withdrawal', amount, requested, balance, revision };
      return {
        ...earnings,
        revision,
        withdrawn: earnings.withdrawn + amount,
        entries: earnings.entries.set(withdrawalKey(idemKey), entry),
      };
    }
    case 'WithdrawalReturned': {
      const { idemKey, amount } = event.data;
      const seen = earnings.entries.get(withdrawalKey(idemKey));
      assert(seen?.kind === 'withdrawal' && seen.amount === amount, 'what is returned was withdrawn');
      const withdrawn = earnings.withdrawn - amount;
      const balance = earnings.accrued - withdrawn;
      return {
        ...earnings,
        revision,
        withdrawn,
        entries: earnings.entries.set(withdrawalKey(idemKey), {
          ...seen,
          kind: 'returned',
          balance,
          revision,
        }),
      };
    }
  }
}

export const earnings: StreamType<EarningsCommand, EarningsEvent, Earnings, EarningsAnswer> = {
  category: CATEGORY,
  version: 1,
  codec: earningsEvents,
  initialState,
  decide,
  evolve,
  /** Roughly, what the map keeps for each entry; the figure only has to bound the cache. */
  crossesThreads: true,
  sizeOf: ({ entries }) => 800 + entries.size * 400,
  snapshot: { encode: encodeEarnings, decode: decodeEarnings },
};
