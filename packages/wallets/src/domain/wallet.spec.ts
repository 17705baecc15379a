import { givenWhenThen, holdsEventFixtures } from '@coffer/testing';
import { expect } from 'chai';
import type { WalletEvent } from './wallet.events.ts';
import { type WalletCommand, wallet } from './wallet.ts';
import { walletIdOf, walletStreamName } from './walletIds.ts';

const AT = new Date('2026-01-02T03:04:05.678Z');
const owner = { scopeId: 'scp_1', environment: 'test', userId: 'usr_1' } as const;

type Provision = Extract<WalletCommand, { type: 'ProvisionWallet' }>;

const provision = (given: Partial<Provision> = {}): Provision => ({
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

const successor = { newWalletId: 'wlt_2', newAddress: 'address-2' };
const exportWallet = (given: Partial<Extract<WalletCommand, { type: 'ExportWallet' }>> = {}) =>
  ({
    type: 'ExportWallet',
    idempotencyKey: 'export-1',
    recipientPublicKey: null,
    ...successor,
    at: AT,
    ...given,
  }) as const;
const exported: WalletEvent = {
  type: 'WalletExported',
  data: {
    walletId: 'wlt_1',
    userId: 'usr_1',
    address: 'address-1',
    idempotencyKey: 'export-1',
    recipientPublicKey: null,
    ...successor,
    exportedAt: AT.toISOString(),
  },
};
const migrate = (ref = 'migration-1') => ({ type: 'MigrateWallet', ref, ...successor, at: AT }) as const;
const migrated: WalletEvent = {
  type: 'WalletMigrated',
  data: {
    walletId: 'wlt_1',
    userId: 'usr_1',
    address: 'address-1',
    ref: 'migration-1',
    ...successor,
    migratedAt: AT.toISOString(),
  },
};

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

describe('a wallet that its user takes', () => {
  const answered = { ...answer, ...exported.data, status: 'exported' } as const;

  it('is exported', () =>
    given(provisioned).when(exportWallet()).thenHappened(exported).andAnswers(answered));

  it('is exported once a key, with the first answer for a repeat', () =>
    given(provisioned, exported)
      .when(exportWallet({ at: new Date('2027-01-01T00:00:00.000Z'), newWalletId: 'wlt_9' }))
      .thenNothingHappened()
      .andReplays(answered));

  it('is not exported for another recipient under the same key', () =>
    given(provisioned, exported)
      .when(exportWallet({ recipientPublicKey: 'AAAA' }))
      .thenRejects('wallets/idempotency_conflict', { key: 'export-1', field: 'recipientPublicKey' }));

  it('is not exported a second time', () =>
    given(provisioned, exported)
      .when(exportWallet({ idempotencyKey: 'export-2' }))
      .thenRejects('wallets/not_active', { status: 'exported' }));

  it('is not there before it is provisioned', () =>
    given().when(exportWallet()).thenRejects('wallets/not_found'));

  it('answers its provisioning as it did', () =>
    given(provisioned, exported).when(provision()).thenNothingHappened().andReplays(answer));
});

describe('a wallet that an operator replaces', () => {
  const answered = { ...answer, ...migrated.data, status: 'migrated' } as const;

  it('is migrated', () => given(provisioned).when(migrate()).thenHappened(migrated).andAnswers(answered));

  it('is migrated once a ref', () =>
    given(provisioned, migrated).when(migrate()).thenNothingHappened().andReplays(answered));

  it('is not migrated again, nor exported', async () => {
    await given(provisioned, migrated)
      .when(migrate('migration-2'))
      .thenRejects('wallets/not_active', { status: 'migrated' });
    await given(provisioned, migrated)
      .when(exportWallet())
      .thenRejects('wallets/not_active', { status: 'migrated' });
    await given(provisioned, exported)
      .when(migrate())
      .thenRejects('wallets/not_active', { status: 'exported' });
  });

  it('is not there before it is provisioned', () => given().when(migrate()).thenRejects('wallets/not_found'));
});

describe('wallet: fixtures', () =>
  holdsEventFixtures(wallet, new URL('fixtures/', import.meta.url), {
    repeatOf,
    textOf: (given) => JSON.stringify(given),
  }));

function repeatOf(event: WalletEvent): WalletCommand {
  switch (event.type) {
    case 'WalletProvisioned': {
      const { provisionedAt, ...data } = event.data;
      return { type: 'ProvisionWallet', ...data, at: new Date(provisionedAt) };
    }
    case 'WalletExported':
      return { type: 'ExportWallet', ...event.data, at: new Date(event.data.exportedAt) };
    case 'WalletMigrated':
      return { type: 'MigrateWallet', ...event.data, at: new Date(event.data.migratedAt) };
  }
}
