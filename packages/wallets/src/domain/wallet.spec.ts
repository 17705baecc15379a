import { givenWhenThen, holdsEventFixtures } from '@coffer/testing';
import { expect } from 'chai';
import type { WalletEvent } from './wallet.events.ts';
import { type WalletCommand, wallet } from './wallet.ts';
import { walletIdOf, walletStreamName } from './walletIds.ts';

const AT = new Date('2026-01-02T03:04:05.678Z');
const owner = { scopeId: 'scp_1', environment: 'test', userId: 'usr_1' } as const;

const provision = (given: Partial<WalletCommand> = {}): WalletCommand => ({
  type: 'ProvisionWallet',
  walletId: 'wlt_1',
  userId: 'usr_1',
  address: 'address-1',
  generation: 1,
  at: AT,
  ...given,
});
const provisioned: WalletEvent = {
  type: 'WalletProvisioned',
  data: {
    walletId: 'wlt_1',
    userId: 'usr_1',
    address: 'address-1',
    generation: 1,
    provisionedAt: AT.toISOString(),
  },
};
const answer = { ...provisioned.data, status: 'active' } as const;
const given = givenWhenThen(wallet);

describe('a wallet', () => {
  it('is provisioned', () => given().when(provision()).thenHappened(provisioned).andAnswers(answer));

  it('is provisioned once, however often that is asked for', () =>
    given(provisioned)
      .when(provision({ at: new Date('2027-01-01T00:00:00.000Z') }))
      .thenNothingHappened()
      .andReplays(answer));

  for (const [what, other] of [
    ['owner', { userId: 'usr_2' }],
    ['generation', { generation: 2 }],
    ['address', { address: 'address-2' }],
  ] as const) {
    it(`never gets another ${what}`, () =>
      expect(() => wallet.decide(answer, provision(other))).to.throw(/a wallet (id stands|has one key)/));
  }

  it('has an id that follows from its owner and generation, and from nothing less', () => {
    const others = [
      walletIdOf(owner, 2),
      walletIdOf({ ...owner, scopeId: 'scp_2' }, 1),
      walletIdOf({ ...owner, environment: 'live' }, 1),
      walletIdOf({ ...owner, userId: 'usr_2' }, 1),
    ];
    expect(walletIdOf(owner, 1)).to.equal(walletIdOf({ ...owner }, 1));
    expect(new Set([walletIdOf(owner, 1), ...others]).size).to.equal(5);
    // On disk for ever: an id that came out otherwise would give every user a second wallet.
    expect(walletIdOf(owner, 1)).to.equal('wlt_1tgcbrchafbvcs1dsfz8cyyjqh');
  });

  it('has a stream in its scope and environment', () =>
    expect(walletStreamName({ ownerId: owner.scopeId, ...owner, walletId: 'wlt_1' })).to.equal(
      'wallet-test.scp_1.wlt_1',
    ));
});

describe('wallet: fixtures', () =>
  holdsEventFixtures(wallet, new URL('fixtures/', import.meta.url), {
    repeatOf: ({ data: { provisionedAt, ...data } }): WalletCommand => ({
      type: 'ProvisionWallet',
      ...data,
      at: new Date(provisionedAt),
    }),
    textOf: (given) => JSON.stringify(given),
  }));
