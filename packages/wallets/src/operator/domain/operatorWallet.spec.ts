import { givenWhenThen, holdsEventFixtures } from '@coffer/testing';
import { expect } from 'chai';
import type { OperatorWalletEvent } from './operatorWallet.events.ts';
import {
  type OperatorWalletCommand,
  operatorWallet,
  operatorWalletIdOf,
  operatorWalletStreamName,
} from './operatorWallet.ts';

const AT = new Date('2026-01-02T03:04:05.678Z');
const owner = { environment: 'test', appId: 'app_1', role: 'treasury' } as const;

const provision = (given: Partial<OperatorWalletCommand> = {}): OperatorWalletCommand => ({
  type: 'ProvisionOperatorWallet',
  walletId: 'wlt_1',
  appId: 'app_1',
  role: 'treasury',
  address: 'address-1',
  at: AT,
  ...given,
});
const answer = {
  walletId: 'wlt_1',
  appId: 'app_1',
  role: 'treasury',
  address: 'address-1',
  provisionedAt: AT.toISOString(),
} as const;
const provisioned: OperatorWalletEvent = { type: 'OperatorWalletProvisioned', data: answer };
const given = givenWhenThen(operatorWallet);

describe('an operator wallet', () => {
  it('is provisioned', () => given().when(provision()).thenHappened(provisioned).andAnswers(answer));

  it('is provisioned once, however often it is requested', () =>
    given(provisioned)
      .when(provision({ at: new Date('2027-01-01T00:00:00.000Z') }))
      .thenNothingHappened()
      .andReplays(answer));

  for (const [what, other] of [
    ['app', { appId: 'app_2' }],
    ['role', { role: 'feePayer' }],
    ['address', { address: 'address-2' }],
  ] as const) {
    it(`never gets another ${what}`, () =>
      expect(() => operatorWallet.decide(answer, provision(other))).to.throw(
        /a wallet (id stands|has one key)/,
      ));
  }

  it('has an id derived from app, environment and role together', () => {
    const ids = [
      owner,
      { ...owner, role: 'feePayer' } as const,
      { ...owner, environment: 'live' } as const,
      { ...owner, appId: 'app_2' },
    ].map(operatorWalletIdOf);
    expect(new Set(ids).size).to.equal(4);
    // On disk for ever: a different id would give every app a second, empty treasury.
    expect(ids.slice(0, 2)).to.deep.equal([
      'wlt_4ym4nczb9xb2w9hm34426868py',
      'wlt_2g5qs55rtmbg1se1hfsfsacff8',
    ]);
  });

  it('has a stream of its app and environment', () =>
    expect(operatorWalletStreamName(owner)).to.equal(
      `operatorWallet-test.app_1.${operatorWalletIdOf(owner)}`,
    ));
});

describe('operatorWallet: fixtures', () =>
  holdsEventFixtures(operatorWallet, new URL('fixtures/', import.meta.url), {
    repeatOf: ({ data: { provisionedAt, ...data } }): OperatorWalletCommand => ({
      type: 'ProvisionOperatorWallet',
      ...data,
      at: new Date(provisionedAt),
    }),
    textOf: (given) => JSON.stringify(given),
  }));
