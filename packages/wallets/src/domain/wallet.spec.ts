import { Rejection } from '@coffer/kernel';
import { givenWhenThen, holdsEventFixtures } from '@coffer/testing';
import { expect } from 'chai';
import fc from 'fast-check';
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

  it('is provisioned once, however often it is requested', () =>
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
      expect(() => wallet.decide(wallet.evolve(undefined, provisioned), provision(other))).to.throw(
        /a wallet (id stands|has one key)/,
      ));
  }

  it('has an id derived from all of its owner and its generation', () => {
    const others = [
      walletIdOf(owner, 2),
      walletIdOf({ ...owner, scopeId: 'scp_2' }, 1),
      walletIdOf({ ...owner, environment: 'live' }, 1),
      walletIdOf({ ...owner, userId: 'usr_2' }, 1),
    ];
    expect(walletIdOf(owner, 1)).to.equal(walletIdOf({ ...owner }, 1));
    expect(new Set([walletIdOf(owner, 1), ...others]).size).to.equal(5);
    // On disk for ever: a different id would give every user a second wallet.
    expect(walletIdOf(owner, 1)).to.equal('wlt_1tgcbrchafbvcs1dsfz8cyyjqh');
  });

  it('has a stream in its scope and environment', () =>
    expect(walletStreamName({ ownerId: owner.scopeId, ...owner, walletId: 'wlt_1' })).to.equal(
      'wallet-test.scp_1.wlt_1',
    ));
});

describe('a wallet that its user exports', () => {
  const answered = { ...answer, ...exported.data, status: 'exported' } as const;

  it('is exported', () =>
    given(provisioned).when(exportWallet()).thenHappened(exported).andAnswers(answered));

  it('is exported once per key, with the first answer for a repeat', () =>
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

  it('is not found before it is provisioned', () =>
    given().when(exportWallet()).thenRejects('wallets/not_found'));

  it('repeats the answer of its provisioning', () =>
    given(provisioned, exported).when(provision()).thenNothingHappened().andReplays(answer));
});

describe('a wallet that an operator replaces', () => {
  const answered = { ...answer, ...migrated.data, status: 'migrated' } as const;

  it('is migrated', () => given(provisioned).when(migrate()).thenHappened(migrated).andAnswers(answered));

  it('is migrated once per ref', () =>
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

  it('is not found before it is provisioned', () => given().when(migrate()).thenRejects('wallets/not_found'));
});

const order = {
  operation: 'deposit',
  key: 'ref-1',
  appId: 'app_1',
  userId: 'usr_1',
  currencyId: 1,
  mint: 'native',
  decimals: 9,
  amount: 5n,
  from: { walletId: 'wlt_1', ownerId: 'scp_1', address: 'address-1' },
  toAddress: 'address-treasury',
  requestedAt: AT.toISOString(),
} as const;
const admit = (moveId = 'mov_1') => ({ type: 'AdmitMove', moveId, moveOwnerId: 'app_1', order }) as const;
const release = (moveId = 'mov_1') => ({ type: 'ReleaseMove', moveId }) as const;
const admitted = (moveId = 'mov_1'): WalletEvent => ({
  type: 'WalletMoveAdmitted',
  data: { walletId: 'wlt_1', moveId, moveOwnerId: 'app_1', order },
});
const released = (moveId = 'mov_1'): WalletEvent => ({
  type: 'WalletMoveReleased',
  data: { walletId: 'wlt_1', moveId },
});
const onItsWay = { reasons: ['moves_in_flight'], floor: [] };

describe('a wallet with moves from and to it', () => {
  it('admits each once, with its whole order, until it is released', () => {
    given(provisioned).when(admit()).thenHappened(admitted()).andAnswers(answer);
    given(provisioned, admitted()).when(admit()).thenNothingHappened().andReplays(answer);
    given(provisioned, admitted(), admitted('mov_2'))
      .when(release())
      .thenHappened(released())
      .andAnswers(answer);
    given(provisioned, admitted(), released()).when(release()).thenNothingHappened().andAnswers(answer);
    given(provisioned).when(release('mov_9')).thenNothingHappened().andAnswers(answer);
  });

  it('is not exported before all of them are released', () => {
    given(provisioned, admitted()).when(exportWallet()).thenRejects('wallets/export_not_allowed', onItsWay);
    given(provisioned, admitted(), admitted('mov_2'), released())
      .when(exportWallet())
      .thenRejects('wallets/export_not_allowed', onItsWay);
    given(provisioned, admitted(), released()).when(exportWallet()).thenHappened(exported);
  });

  it('admits none once it is exported or migrated, nor before it is provisioned', () => {
    given(provisioned, exported).when(admit()).thenRejects('wallets/not_active', { status: 'exported' });
    given(provisioned, migrated).when(admit()).thenRejects('wallets/not_active', { status: 'migrated' });
    given().when(admit()).thenRejects('wallets/not_found');
  });

  it('is migrated with moves in flight, and releases them afterwards: its key stays', () => {
    given(provisioned, admitted()).when(migrate()).thenHappened(migrated);
    const answered = { ...answer, ...migrated.data, status: 'migrated' } as const;
    given(provisioned, admitted(), migrated).when(admit()).thenNothingHappened().andReplays(answered);
    given(provisioned, admitted(), migrated).when(release()).thenHappened(released()).andAnswers(answered);
  });

  it('comes back from a snapshot as it was', () => {
    for (const history of [
      [provisioned, admitted(), admitted('mov_2'), released()],
      [provisioned, admitted(), released(), exported],
      [provisioned, admitted(), migrated],
    ]) {
      const state = history.reduce(wallet.evolve, wallet.initialState);
      const stored = JSON.parse(JSON.stringify(wallet.snapshot?.encode(state)));
      expect(wallet.snapshot?.decode(stored)).to.deep.equal(state);
    }
  });

  it('is never exported while a move is admitted, whatever the order of commands', () => {
    const command = fc.oneof(
      fc.constantFrom('mov_1', 'mov_2', 'mov_3').map(admit),
      fc.constantFrom('mov_1', 'mov_2', 'mov_3').map(release),
      fc.constantFrom('one', 'two').map((idempotencyKey) => exportWallet({ idempotencyKey })),
      fc.constantFrom('one', 'two').map(migrate),
    );
    fc.assert(
      fc.property(fc.array(command, { maxLength: 40 }), (commands) => {
        const open = new Set<string>();
        let isActive = true;
        let state = wallet.evolve(wallet.initialState, provisioned);
        for (const one of commands) {
          let events: readonly WalletEvent[] = [];
          try {
            ({ events } = wallet.decide(state, one));
          } catch (error) {
            expect(error).to.be.instanceOf(Rejection);
          }
          for (const event of events) {
            if (event.type === 'WalletExported') expect([...open]).to.deep.equal([]);
            if (event.type === 'WalletMoveAdmitted') {
              expect(isActive && !open.has(event.data.moveId)).to.equal(true);
              open.add(event.data.moveId);
            } else if (event.type === 'WalletMoveReleased') {
              expect(open.delete(event.data.moveId)).to.equal(true);
            } else {
              expect(isActive, 'a wallet ends once').to.equal(true);
              isActive = false;
            }
            state = wallet.evolve(state, event);
          }
          expect(new Set(state?.admitted.keys())).to.deep.equal(open);
        }
      }),
    );
  });
});

describe('wallet: fixtures', () =>
  holdsEventFixtures(wallet, new URL('fixtures/', import.meta.url), {
    repeatOf,
    textOf: (answered) => JSON.stringify(answered),
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
    case 'WalletMoveAdmitted':
      return { ...event.data, type: 'AdmitMove' };
    case 'WalletMoveReleased':
      return { type: 'ReleaseMove', moveId: event.data.moveId };
  }
}
