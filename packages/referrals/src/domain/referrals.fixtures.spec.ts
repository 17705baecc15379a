import { holdsEventFixtures } from '@coffer/testing';
import { bookedBody, distributionBody } from '../referral.resource.ts';
import type { CommissionEvent } from './commission.events.ts';
import { type CommissionCommand, commission } from './commission.ts';
import type { EarningsEvent } from './earnings.events.ts';
import { type EarningsAnswer, type EarningsCommand, earnings } from './earnings.ts';
import type { ReferralEvent } from './referral.events.ts';
import { type Referral, type ReferralCommand, referral } from './referral.ts';
import type { ReferralCodeEvent } from './referralCode.events.ts';
import { type ReferralCode, type ReferralCodeCommand, referralCode } from './referralCode.ts';
import { remainderOf } from './splitByLevels.ts';

const folderOf = (category: string) => new URL(`fixtures/${category}/`, import.meta.url);

describe('referralCode: fixtures', () =>
  holdsEventFixtures(referralCode, folderOf('referralCode'), {
    repeatOf: ({ type, data }: ReferralCodeEvent): ReferralCodeCommand =>
      type === 'CodeClaimed' ? { type: 'ClaimCode', ...data } : { type: 'ReleaseCode', ...data },
    textOf: (answer: ReferralCode) => JSON.stringify(answer),
  }));

describe('referral: fixtures', () =>
  holdsEventFixtures(referral, folderOf('referral'), {
    repeatOf({ type, data }: ReferralEvent): ReferralCommand {
      switch (type) {
        case 'CodeIssued':
          return { type: 'IssueCode', ...data };
        case 'AttributionBegun':
        case 'UserAttributed':
          return { type: 'Attribute', ...data };
        case 'AttributionDropped':
          return { type: 'FinishAttribution', begunAt: 1, closesCircle: true };
      }
    },
    textOf: (answer: Referral) => JSON.stringify(answer),
  }));

describe('commission: fixtures', () =>
  holdsEventFixtures(commission, folderOf('commission'), {
    repeatOf({ type, data }: CommissionEvent): CommissionCommand {
      switch (type) {
        case 'PayoutDecided':
          return { type: 'DecidePayout', ...data };
        case 'DistributionDecided': {
          const { idemKey, userId, currencyId, amount, levels } = data;
          // The chain has changed since, and does not count.
          return { type: 'DecideDistribution', idemKey, userId, currencyId, amount, levels, chain: [] };
        }
        case 'WithdrawalDecided':
          return { type: 'DecideWithdrawal', ...data };
      }
    },
    textOf: commissionText,
  }));

describe('earnings: fixtures', () =>
  holdsEventFixtures(earnings, folderOf('earnings'), {
    repeatOf({ type, data }: EarningsEvent): EarningsCommand {
      switch (type) {
        case 'EarningsAccrued': {
          const { balance: _balance, ...content } = data;
          return { type: 'Accrue', ...content };
        }
        case 'EarningsWithdrawn':
          return { type: 'Withdraw', idemKey: data.idemKey, requested: data.requested };
        case 'WithdrawalReturned':
          return { type: 'ReturnWithdrawal', idemKey: data.idemKey };
      }
    },
    textOf: ({ amount, balance }: EarningsAnswer) =>
      JSON.stringify({ amount: amount.toString(), balance: balance.toString() }),
  }));

function commissionText({ type, data }: CommissionEvent): string {
  const { idemKey, userId, currencyId: currency, amount } = data;
  switch (type) {
    case 'PayoutDecided':
      return JSON.stringify({ idemKey, userId, currency, amount: amount.toString() });
    case 'DistributionDecided': {
      const { distributed, withheld } = data;
      const remainder = remainderOf(amount, distributed);
      return JSON.stringify(distributionBody({ idemKey, distributed, remainder, withheld }));
    }
    case 'WithdrawalDecided': {
      const { balance } = data;
      return JSON.stringify(bookedBody({ idemKey, userId, currency, amount, balance }));
    }
  }
}
