/**
 * What one `idemKey` was used for: a payout, a distribution or a withdrawal, over all users of an app and environment.
 * The stream is named by the key, so its only event decides who has it. Source: contract, Common rules (key scopes) and
 * Referrals.
 */
import assert from 'node:assert/strict';
import {
  type Decision,
  type Environment,
  parseStreamName,
  type StreamType,
  streamName,
} from '@coffer/kernel';
import { reject } from '../errors.ts';
import { type CommissionEvent, commissionEvents } from './commission.events.ts';
import type { EarningsEvent } from './earnings.events.ts';
import { type ChainLink, splitByLevels } from './splitByLevels.ts';

const CATEGORY = 'commission';

export interface CommissionPlace {
  readonly environment: Environment;
  readonly appId: string;
  readonly idemKey: string;
}

export const commissionStreamOf = ({ environment, appId, idemKey }: CommissionPlace): string =>
  streamName(CATEGORY, environment, appId, idemKey);

export function commissionPlaceOf(stream: string): CommissionPlace {
  const parts = parseStreamName(stream);
  assert(parts?.category === CATEGORY, `${stream} holds no commission`);
  return { environment: parts.environment, appId: parts.owner, idemKey: parts.id };
}

type DataOf<Type extends CommissionEvent['type']> = Extract<CommissionEvent, { type: Type }>['data'];

/** As requested. */
export type Payout = DataOf<'PayoutDecided'>;
export type Distribution = Omit<DataOf<'DistributionDecided'>, 'distributed' | 'withheld'>;
export type Withdrawal = Omit<DataOf<'WithdrawalDecided'>, 'amount' | 'balance'>;

export type CommissionCommand =
  | ({ readonly type: 'DecidePayout' } & Payout)
  | ({ readonly type: 'DecideDistribution' } & Distribution & { readonly chain: readonly ChainLink[] })
  | ({ readonly type: 'DecideWithdrawal' } & DataOf<'WithdrawalDecided'>);

/** The only event; undefined until the key is used. */
export type Commission = CommissionEvent | undefined;

function decide(
  commission: Commission,
  command: CommissionCommand,
): Decision<CommissionEvent, CommissionEvent> {
  if (isReplay(commission, command)) return { events: [], answer: commission, replayed: true };
  const event = eventOf(command);
  return { events: [event], answer: event };
}

function eventOf(command: CommissionCommand): CommissionEvent {
  switch (command.type) {
    case 'DecidePayout': {
      const { type: _type, ...data } = command;
      return { type: 'PayoutDecided', data };
    }
    case 'DecideDistribution': {
      const { type: _type, chain, ...data } = command;
      return { type: 'DistributionDecided', data: { ...data, ...splitByLevels(data, chain) } };
    }
    case 'DecideWithdrawal': {
      const { type: _type, ...data } = command;
      return { type: 'WithdrawalDecided', data };
    }
  }
}

const EVENT_OF = {
  DecidePayout: 'PayoutDecided',
  DecideDistribution: 'DistributionDecided',
  DecideWithdrawal: 'WithdrawalDecided',
} as const;

/** Whether the key was used for this. Throws `referrals/idempotency_conflict` if it was for something else. */
export function isReplay(commission: Commission, asked: CommissionRequest): commission is CommissionEvent {
  if (!commission) return false;
  const field = firstDifference(commission, asked);
  if (field !== undefined) throw reject('referrals/idempotency_conflict', { key: asked.idemKey, field });
  return true;
}

/** In the order of the request's fields. */
function firstDifference(commission: CommissionEvent, asked: CommissionRequest): string | undefined {
  if (commission.type !== EVENT_OF[asked.type]) return 'operation';
  const { data } = commission;
  if (data.userId !== asked.userId) return 'userId';
  if (data.currencyId !== asked.currencyId) return 'currency';
  if (commission.type === 'WithdrawalDecided') {
    assert(asked.type === 'DecideWithdrawal');
    return commission.data.requested === asked.requested ? undefined : 'amount';
  }
  assert(asked.type !== 'DecideWithdrawal');
  if (commission.data.amount !== asked.amount) return 'amount';
  if (commission.type === 'DistributionDecided') {
    assert(asked.type === 'DecideDistribution');
    return isSameList(commission.data.levels, asked.levels) ? undefined : 'levels';
  }
  assert(asked.type === 'DecidePayout');
  if (commission.data.sourceUserId !== asked.sourceUserId) return 'sourceUserId';
  return commission.data.memo === asked.memo ? undefined : 'memo';
}

/** What a key is asked to be used for, before anything that the decision adds. */
export type CommissionRequest =
  | ({ readonly type: 'DecidePayout' } & Payout)
  | ({ readonly type: 'DecideDistribution' } & Distribution)
  | ({ readonly type: 'DecideWithdrawal' } & Withdrawal);

const isSameList = (one: readonly number[], other: readonly number[]): boolean =>
  one.length === other.length && one.every((value, index) => value === other[index]);

function evolve(commission: Commission, event: CommissionEvent): Commission {
  assert(!commission, 'a key is used once');
  return event;
}

export const commission: StreamType<CommissionCommand, CommissionEvent, Commission, CommissionEvent> = {
  category: CATEGORY,
  version: 1,
  codec: commissionEvents,
  initialState: undefined,
  decide,
  evolve,
  sizeOf: () => 2_500,
  isEnded: (state) => state !== undefined,
};

/** What a beneficiary's earnings are told. */
export type Accrual = Omit<
  Extract<EarningsEvent, { type: 'EarningsAccrued' }>['data'],
  'idemKey' | 'balance'
> & {
  readonly userId: string;
};

/** What each beneficiary gets; a part of nothing is not an accrual. */
export function accrualsOf({ type, data }: CommissionEvent): readonly Accrual[] {
  switch (type) {
    case 'PayoutDecided': {
      const { userId, amount, sourceUserId, memo } = data;
      const source = sourceUserId === undefined ? {} : { sourceUserId };
      return [{ userId, kind: 'payout', amount, ...source, ...(memo === undefined ? {} : { memo }) }];
    }
    case 'DistributionDecided': {
      const { distributed, userId: sourceUserId } = data;
      return distributed
        .filter(({ amount }) => amount > 0n)
        .map(({ userId, level, amount }) => ({ userId, kind: 'distribution', amount, level, sourceUserId }));
    }
    case 'WithdrawalDecided':
      return [];
  }
}
