import { holdsEventFixtures } from '@coffer/testing';
import type { AccountEvent } from './account.events.ts';
import { type AccountCommand, account } from './account.ts';

function repeatOf(event: AccountEvent): AccountCommand {
  switch (event.type) {
    case 'AccountCredited':
      return { type: 'CreditAccount', ...event.data };
    case 'AccountDebited':
      return { type: 'DebitAccount', ...event.data };
    case 'FundsHeld':
      return { type: 'HoldFunds', ...event.data };
    case 'HoldClosed':
      return { type: 'CloseHold', ...event.data };
  }
}

const amountsAsText = (_key: string, value: unknown) => (typeof value === 'bigint' ? `${value}` : value);

describe('account: fixtures', () =>
  holdsEventFixtures(account, new URL('fixtures/', import.meta.url), {
    repeatOf,
    textOf: (answer) => JSON.stringify(answer, amountsAsText),
  }));
