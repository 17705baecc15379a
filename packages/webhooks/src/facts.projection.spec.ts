import { type AccountEvent, accountEvents, type HoldId } from '@coffer/accounts';
import type { Position, RecordedEvent } from '@coffer/event-store';
import { encodeMetadata } from '@coffer/kernel';
import { type MoveEvent, moveEvents, moveStreamName, treasuryMovePlace } from '@coffer/moves';
import { type UserEvent, userEvents } from '@coffer/users';
import { type WalletEvent, walletEvents } from '@coffer/wallets';
import { expect } from 'chai';
import { EVENT_TYPES } from './domain/eventTypes.ts';
import { factsOf, moveBookedBy } from './facts.projection.ts';

const APP = 'app_01h455vb4pex5vsknk084sn02q';
const SCOPE = 'scp_01h455vb4pex5vsknk084sn02q';
const AT = '2026-01-02T03:04:05.678Z';

const recorded = (
  stream: string,
  { type, data, schemaVersion }: { type: string; data: string; schemaVersion: number },
): RecordedEvent => ({
  id: '6f6b1f0e-8f57-5d0c-9c0e-3c1f7d2a4b61',
  stream,
  revision: 4,
  type,
  data,
  metadata: encodeMetadata({ correlationId: 'req-1', actor: 'operator', occurredAt: AT }, schemaVersion),
  position: '9' as Position,
  recordedAt: new Date('2027-01-01T00:00:00.000Z'),
});

const user = (event: UserEvent) => recorded(`user-test.${SCOPE}.usr_1`, userEvents.encode(event));
const wallet = (event: WalletEvent, category = 'wallet') =>
  recorded(`${category}-live.${SCOPE}.wlt_1`, walletEvents.encode(event));
const move = (event: MoveEvent, owner = APP) =>
  recorded(`move-live.${owner}.mov_1`, moveEvents.encode(event));

const left = { walletId: 'wlt_1', userId: 'usr_1', address: 'Old', newWalletId: 'wlt_2', newAddress: 'New' };
const subject = { key: 'ref-1', appId: APP, userId: 'usr_1', currencyId: 2, amount: 5n } as const;
const provisioned = (generation: number): WalletEvent => ({
  type: 'WalletProvisioned',
  data: { walletId: 'wlt_1', userId: 'usr_1', address: 'Old', generation, provisionedAt: AT },
});
const exported: WalletEvent = {
  type: 'WalletExported',
  data: { ...left, idempotencyKey: 'k', recipientPublicKey: null, exportedAt: AT },
};
const migrated: WalletEvent = { type: 'WalletMigrated', data: { ...left, ref: 'r', migratedAt: AT } };
const confirmed = (operation: 'deposit' | 'cashOut' | 'withdraw' | 'sweep'): MoveEvent => ({
  type: 'MoveConfirmed',
  data: { ...subject, operation, signature: 'Sig', slot: 7n },
});
const failed = (operation: 'deposit' | 'cashOut' | 'withdraw' | 'sweep'): MoveEvent => ({
  type: 'MoveFailed',
  data: { ...subject, operation, code: 'moves/expired', signature: null, slot: null },
});
const USER = 'usr_01h455vb4pex5vsknk084sn02q';
const account = (event: AccountEvent) =>
  recorded(`account-live.${APP}.${USER}.2`, accountEvents.encode(event));
const credited = account({
  type: 'AccountCredited',
  data: { entryId: 'deposit:ref-1', amount: 5n, reason: 'deposit', available: 5n, held: 0n },
});
const closed = (payout: '0' | '5', holdId: HoldId = 'cashout:ref-1') =>
  account({ type: 'HoldClosed', data: { holdId, held: 5n, payout: BigInt(payout) } });
const decided = (decision: 'passed' | 'failed' | 'review_required') =>
  user({ type: 'ComplianceDecided', data: { decision, reason: 'source of funds' } });

const OLD = { id: 'wlt_1', userId: 'usr_1', environment: 'live', address: 'Old' };
const LEFT = { ...OLD, newWalletId: 'wlt_2', newAddress: 'New' };
const created = (id: string, address: string) => ({
  id,
  userId: 'usr_1',
  address,
  custody: 'custodial',
  status: 'active',
});
const checked = { id: 'usr_1', userId: 'usr_1', environment: 'test', reason: 'source of funds' };
const moved = (kind: 'deposit' | 'withdraw', signature: string | null) => ({
  id: 'mov_1',
  ref: 'ref-1',
  kind,
  userId: 'usr_1',
  currency: 2,
  amount: '5',
  signature,
  environment: 'live',
});

type Row = readonly [
  what: string,
  event: RecordedEvent,
  told: readonly (readonly [type: string, data: object])[],
  bookedEnd?: RecordedEvent,
];

describe('facts of the log', () => {
  const rows: readonly Row[] = [
    [
      'a registration',
      user({ type: 'UserRegistered', data: { userId: 'usr_1', appId: APP, registeredAt: AT } }),
      [['user.created', { id: 'usr_1', environment: 'test' }]],
    ],
    [
      'a suspension, without its reason',
      user({ type: 'UserSuspended', data: { reason: 'chargeback' } }),
      [['user.suspended', { id: 'usr_1', environment: 'test' }]],
    ],
    ['a reinstatement', user({ type: 'UserReinstated', data: {} }), []],
    ['a check that was passed', decided('passed'), [['compliance.passed', checked]]],
    ['a check that failed', decided('failed'), [['compliance.failed', checked]]],
    ['a check to be looked at', decided('review_required'), [['compliance.review_required', checked]]],
    ["a user's first wallet", wallet(provisioned(1)), [['wallet.created', created('wlt_1', 'Old')]]],
    ['a later wallet, told with the one that it replaces', wallet(provisioned(2)), []],
    ['a wallet of an app', wallet(provisioned(1), 'operatorWallet'), []],
    [
      'an export, with the wallet that follows',
      wallet(exported),
      [
        ['wallet.exported', LEFT],
        ['wallet.created', created('wlt_2', 'New')],
      ],
    ],
    ['a migration, alone', wallet(migrated), [['wallet.migrated', LEFT]]],
    ['a deposit that the chain has confirmed, not yet', move(confirmed('deposit')), []],
    [
      'a deposit once it is credited',
      credited,
      [['deposit.received', moved('deposit', 'Sig')]],
      move(confirmed('deposit')),
    ],
    ['a deposit that failed', move(failed('deposit')), []],
    ['a cash-out that the chain has confirmed, not yet', move(confirmed('cashOut')), []],
    [
      'a cash-out once its hold is closed',
      closed('0'),
      [['withdrawal.completed', moved('withdraw', 'Sig')]],
      move(confirmed('cashOut')),
    ],
    ['a cash-out that failed, not yet', move(failed('cashOut')), []],
    [
      'a cash-out that failed, once its funds are given back',
      closed('5'),
      [['withdrawal.failed', moved('withdraw', null)]],
      move(failed('cashOut')),
    ],
    ['a hold that was closed without a move', closed('5'), []],
    [
      'a withdrawal from a wallet',
      move(confirmed('withdraw'), SCOPE),
      [['withdrawal.completed', moved('withdraw', 'Sig')]],
    ],
    [
      'a withdrawal that failed',
      move(failed('withdraw'), SCOPE),
      [['withdrawal.failed', moved('withdraw', null)]],
    ],
    ['what is forwarded to a new wallet', move(confirmed('sweep'), SCOPE), []],
    [
      'an event of a stream that is not ours',
      { ...user({ type: 'UserReinstated', data: {} }), stream: 'user-1' },
      [],
    ],
  ];
  for (const [what, event, told, bookedEnd] of rows) {
    it(`tell ${what}`, () => {
      const facts = factsOf(event, bookedEnd);
      expect(facts.map(({ type, data }) => [type, data])).to.deep.equal(told);
      for (const { occurredAt } of facts) expect(occurredAt).to.equal(AT);
    });
  }

  it('of moves are told with the event that books them, which names the move', () => {
    const stream = moveStreamName(treasuryMovePlace('live', APP, 'ref-1'));
    expect(moveBookedBy(credited)).to.equal(stream);
    expect(moveBookedBy(closed('0'))).to.equal(stream);
    expect(moveBookedBy(closed('0', 'session:s1'))).to.equal(undefined);
    expect(moveBookedBy(move(confirmed('deposit')))).to.equal(undefined);
  });

  it('include all types of events', () => {
    const types = new Set(rows.flatMap(([, , told]) => told.map(([type]) => type)));
    expect([...types].sort()).to.deep.equal([...EVENT_TYPES].sort());
  });

  it('are for all apps of a scope, or, if money was moved, for its app alone', () => {
    expect(factsOf(wallet(migrated)).map(({ audience }) => audience)).to.deep.equal([{ scopeId: SCOPE }]);
    expect(factsOf(move(confirmed('withdraw'), SCOPE)).map(({ audience }) => audience)).to.deep.equal([
      { appId: APP },
    ]);
  });
});
