/** Pools over HTTP: every row and code of the contract, and the order of the checks. Source: contract, Custody. */
import { randomUUID } from 'node:crypto';
import { createCommandHandler, ourLog } from '@coffer/event-store';
import { type Answer, type Fields, requireStatus, verdict } from '@coffer/host/testing';
import { encodeMetadata, systemClock } from '@coffer/kernel';
import { patiently } from '@coffer/testing';
import { createUsers } from '@coffer/users';
import { expect } from 'chai';
import { type PoolEvent, poolEvents } from './domain/pool.events.ts';
import { poolStream } from './domain/pool.ts';
import { CHIP, useCustody } from './testing/useCustody.ts';

const CONFLICT = '409 custody/idempotency_conflict';
const MOST = (2n ** 64n - 1n).toString();

describe('Pools', () => {
  let nowMs = Date.now();
  const custody = useCustody({ clock: () => new Date(nowMs) });
  const { lock, confirm, settle, refund, refused, replays, stake, orphan } = custody;
  let poolId: string;
  beforeEach(() => {
    poolId = `round-${randomUUID()}`;
  });

  const funds = (userId: string) => custody.test.funds(userId);
  const stored = async (type: string) =>
    (await custody.world.client.lines('/portal/log')).filter(
      (event) => String(event.stream).endsWith(poolId) && event.type === type,
    );

  describe('lock', () => {
    it('holds the amount, answers 201 with confirmBy, and repeats that answer', async () => {
      const userId = await custody.test.newPlayer('100');
      await custody.news();
      const locking = { poolId, betId: 'b1', userId, amount: '60' };
      const first = requireStatus(await lock(locking), 201);
      expect(await custody.news()).to.deep.equal(['account FundsHeld', 'pool StakeLocked']);
      const { confirmBy, ...rest } = first.json;
      expect(rest).to.deep.equal({ ...locking, currency: CHIP, status: 'locked' });
      const [{ data }] = (await stored('StakeLocked')) as [{ data: { lockedAt: string } }];
      expect(Date.parse(String(confirmBy)) - Date.parse(data.lockedAt)).to.equal(900_000);
      expect(await funds(userId)).to.deep.equal({ available: '40', held: '60' });

      await replays(first, () => lock(locking));
      requireStatus(await confirm({ poolId, betId: 'b1' }), 200);
      await replays(first, () => lock(locking));
      requireStatus(await settle({ poolId, rake: '60' }), 200);
      await replays(first, () => lock(locking));
    });

    it('waits for its confirmation as long as the app says', async () => {
      await custody.set({ custodyLockTimeoutSeconds: 60 });
      await orphan(poolId, 'b1', '1');
      const [{ data }] = (await stored('StakeLocked')) as [{ data: { lockedAt: string; confirmBy: string } }];
      expect(Date.parse(data.confirmBy) - Date.parse(data.lockedAt)).to.equal(60_000);
      await custody.set({ custodyLockTimeoutSeconds: null });
    });

    it('is refused with each changed field named, in their order', async () => {
      const userId = await orphan(poolId, 'b1', '10');
      const other = await custody.test.newPlayer('10');
      const locking = { poolId, betId: 'b1', userId, amount: '10' };
      for (const [field, change] of [
        ['userId', { userId: other, currency: 1, amount: '9' }],
        ['currency', { currency: 1, amount: '9' }],
        ['amount', { amount: '9' }],
      ] as const) {
        await refused(() => lock({ ...locking, ...change }), CONFLICT, { key: 'b1', field });
      }
    });

    it('is refused in the documented order', async () => {
      const userId = await orphan(poolId, 'b1', '10');
      const suspended = await custody.test.newPlayer('5');
      await setStanding(suspended, 'suspend');
      const absent = 'usr_01h455vb4pex5vsknk084sn02q';
      const locking = { poolId, betId: 'b2', userId, amount: '11' };
      const open = `${poolId}-open`;
      const inSol = `${poolId}-sol`;
      const sol = await custody.test.newUser();
      await custody.test.credit(sol, '1', randomUUID(), 'SOL');
      requireStatus(
        await custody.test.post('/custody/lock', {
          poolId: inSol,
          betId: 'b1',
          userId: sol,
          currency: 1,
          amount: '1',
        }),
        201,
      );
      requireStatus(await refund({ poolId }), 200);
      const rows: readonly (readonly [string, Fields, Fields?])[] = [
        ['400 request/invalid', { userId: absent, amount: '0' }],
        ['404 users/not_found', { userId: absent, currency: 9 }],
        ['404 users/not_found', { userId: 'nobody', currency: 9 }],
        ['404 custody/unknown_currency', { betId: 'b1', currency: 9 }],
        [CONFLICT, { betId: 'b1', userId: suspended }, { key: 'b1', field: 'userId' }],
        ['403 users/suspended', { userId: suspended }],
        ['409 custody/pool_closed', { currency: 1 }, { status: 'refunded' }],
        ['409 custody/currency_mismatch', { poolId: inSol, amount: '999' }, { currency: 1 }],
        ['409 custody/insufficient_funds', { poolId: open }, { available: '10', amount: '11' }],
      ];
      for (const [refusal, fields, details] of rows) {
        await refused(() => lock({ ...locking, ...fields }), refusal, details);
      }
      expect(
        (await lock({ ...locking, poolId: open, amount: '10' })).status,
        'a refusal uses up nothing',
      ).to.equal(201);
    });

    it('under a bet that another player has is refused, and gives the second hold back', async () => {
      const players = await Promise.all([1, 2].map(() => custody.test.newPlayer('10')));
      const answers = await Promise.all(
        players.flatMap((userId) =>
          Array.from({ length: 10 }, () => lock({ poolId, betId: 'b1', userId, amount: '10' })),
        ),
      );
      const verdicts = answers.map(verdict).toSorted();
      expect(verdicts).to.deep.equal([...Array(10).fill('201'), ...Array(10).fill(CONFLICT)]);
      const held = await Promise.all(players.map(async (userId) => (await funds(userId)).held));
      expect(held.toSorted()).to.deep.equal(['0', '10']);
    });
  });

  describe('confirm', () => {
    it("has the lock's fields without confirmBy, and repeats its answer, also in a closed pool", async () => {
      const userId = await orphan(poolId, 'b1', '7');
      const first = requireStatus(await confirm({ poolId, betId: 'b1' }), 200);
      const body = { poolId, betId: 'b1', userId, currency: CHIP, amount: '7', status: 'confirmed' };
      expect(first.text).to.equal(JSON.stringify(body));
      await replays(first, () => confirm({ poolId, betId: 'b1' }));
      requireStatus(await refund({ poolId }), 200);
      await replays(first, () => confirm({ poolId, betId: 'b1' }));
    });

    it('is refused in the documented order', async () => {
      await refused(() => confirm({ poolId, betId: 'b1' }), '404 custody/pool_not_found');
      await orphan(poolId, 'b1', '7');
      await refused(() => confirm({ poolId, betId: 'b2' }), '404 custody/bet_not_found');
      requireStatus(await refund({ poolId }), 200);
      await refused(() => confirm({ poolId, betId: 'b2' }), '404 custody/bet_not_found');
      await refused(() => confirm({ poolId, betId: 'b1' }), '409 custody/pool_closed', {
        status: 'refunded',
      });
    });
  });

  describe('settle', () => {
    const pays = (betId: string, userId: string, payout: string) => ({ betId, userId, payout });

    it('pays out, gives unconfirmed stakes back, credits before it answers, and repeats that answer', async () => {
      const [one, two, three] = await Promise.all([
        stake(poolId, 'b1', '100'),
        stake(poolId, 'b2', '100'),
        stake(poolId, 'b3', '100'),
      ]);
      const four = await orphan(poolId, 'b4', '50');
      await custody.news();
      const payouts = [pays('b3', three, '185'), pays('b1', one, '100'), pays('b2', two, '0')];
      const first = requireStatus(await settle({ poolId, rake: '15', payouts }), 200);
      expect(first.text).to.equal(
        JSON.stringify({
          poolId,
          status: 'settled',
          staked: '300',
          rake: '15',
          paid: '285',
          payouts,
          released: ['b4'],
        }),
      );
      expect(await custody.news()).to.deep.equal([
        'pool PoolSettled',
        ...Array(4).fill('account HoldClosed'),
      ]);
      for (const [userId, available] of [
        [one, '100'],
        [two, '0'],
        [three, '185'],
        [four, '50'],
      ] as const) {
        expect(await funds(userId)).to.deep.equal({ available, held: '0' });
      }
      await replays(first, () => settle({ poolId, rake: '15', payouts }));
      await replays(first, () => settle({ poolId, rake: '15', payouts: payouts.toReversed() }));
      await replays(first, () => settle({ poolId, rake: '15', payouts: payouts.slice(0, 2) }));
      for (const [field, change] of [
        ['currency', { currency: 1, rake: '1', payouts: [] }],
        ['rake', { rake: '1', payouts: [] }],
        ['payouts', { rake: '15', payouts: [] }],
        ['payouts', { rake: '15', payouts: [...payouts, pays('b4', four, '0')] }],
      ] as const) {
        await refused(() => settle({ poolId, ...change }), CONFLICT, { key: poolId, field });
      }
      for (const call of [
        () => refund({ poolId }),
        () => lock({ poolId, betId: 'b5', userId: one, amount: '1' }),
      ]) {
        await refused(call, '409 custody/pool_closed', { status: 'settled' });
      }
      const released = '409 custody/lock_released';
      await refused(() => lock({ poolId, betId: 'b4', userId: four, amount: '50' }), released);
      await refused(() => lock({ poolId, betId: 'b4', userId: four, amount: '5' }), CONFLICT, {
        key: 'b4',
        field: 'amount',
      });
      await refused(() => confirm({ poolId, betId: 'b4' }), released);
    });

    it('pays several stakes of one player', async () => {
      const userId = await custody.test.newPlayer('30');
      for (const betId of ['b1', 'b2', 'b3']) {
        requireStatus(await lock({ poolId, betId, userId, amount: '10' }), 201);
        requireStatus(await confirm({ poolId, betId }), 200);
      }
      requireStatus(await settle({ poolId, rake: '3', payouts: [pays('b2', userId, '27')] }), 200);
      expect(await funds(userId)).to.deep.equal({ available: '27', held: '0' });
    });

    it('is refused in the documented order', async () => {
      const userId = await stake(poolId, 'b1', '100');
      const other = await stake(poolId, 'b2', '100');
      const orphaned = await orphan(poolId, 'b3', '50');
      const gone = `${poolId}-gone`;
      await orphan(gone, 'b1', '1');
      requireStatus(await refund({ poolId: gone }), 200);
      const rows: readonly (readonly [string, Fields, Fields?])[] = [
        ['400 request/invalid', { poolId: 'no', currency: 9, rake: '-1' }],
        ['404 custody/unknown_currency', { poolId: `${poolId}-no`, currency: 9 }],
        ['404 custody/pool_not_found', { poolId: `${poolId}-no`, currency: 1 }],
        ['409 custody/pool_closed', { poolId: gone, currency: 1 }, { status: 'refunded' }],
        ['409 custody/currency_mismatch', { currency: 1, rake: '9' }, { currency: CHIP }],
        [
          '409 custody/duplicate_payout',
          { payouts: [pays('b1', userId, '1'), pays('b1', userId, '1'), pays('b9', userId, '1')] },
          { betId: 'b1' },
        ],
        ['409 custody/unknown_bet', { payouts: [pays('b9', userId, '1')] }, { betId: 'b9' }],
        ['409 custody/unknown_bet', { payouts: [pays('b1', other, '200')] }, { betId: 'b1' }],
        ['409 custody/bet_not_confirmed', { payouts: [pays('b3', orphaned, '1')] }, { betId: 'b3' }],
        ['409 custody/unknown_bet', { payouts: [pays('b3', other, '1')] }, { betId: 'b3' }],
        ['409 custody/conservation_violated', { rake: '201' }, { staked: '200', rake: '201', paid: '0' }],
        [
          '409 custody/conservation_violated',
          { rake: '1', payouts: [pays('b1', userId, '198')] },
          { staked: '200', rake: '1', paid: '198' },
        ],
        [
          '409 custody/conservation_violated',
          { rake: MOST, payouts: [pays('b1', userId, MOST), pays('b2', other, MOST)] },
          { staked: '200', rake: MOST, paid: (2n * BigInt(MOST)).toString() },
        ],
      ];
      for (const [refusal, fields, details] of rows) {
        await refused(() => settle({ poolId, ...fields }), refusal, details);
      }
    });

    it('adds the largest amounts', async () => {
      const players = await Promise.all([1, 2, 3].map((bet) => stake(poolId, `b${bet}`, MOST)));
      const paid = (3n * BigInt(MOST) - 1n).toString();
      const payouts = players.map((userId, index) =>
        pays(`b${index + 1}`, userId, index === 0 ? (BigInt(MOST) - 1n).toString() : MOST),
      );
      const { json } = requireStatus(await settle({ poolId, rake: '1', payouts }), 200);
      expect(json).to.include({ staked: (3n * BigInt(MOST)).toString(), paid });
    });

    it('goes on for a suspended player', async () => {
      const userId = await orphan(poolId, 'b1', '10');
      await setStanding(userId, 'suspend');
      requireStatus(await confirm({ poolId, betId: 'b1' }), 200);
      requireStatus(await settle({ poolId, payouts: [pays('b1', userId, '10')] }), 200);
    });
  });

  describe('refund', () => {
    it('gives every stake back, credits before it answers, and repeats that answer', async () => {
      const one = await stake(poolId, 'b1', '100');
      const two = await orphan(poolId, 'b2', '50');
      await custody.news();
      const first = requireStatus(await refund({ poolId, reason: ' Rained off ' }), 200);
      const refunds = [
        { betId: 'b1', userId: one, amount: '100' },
        { betId: 'b2', userId: two, amount: '50' },
      ];
      expect(first.text).to.equal(JSON.stringify({ poolId, status: 'refunded', refunds }));
      expect(await custody.news()).to.deep.equal([
        'pool PoolRefunded',
        ...Array(2).fill('account HoldClosed'),
      ]);
      expect(await funds(one)).to.deep.equal({ available: '100', held: '0' });
      expect(await funds(two)).to.deep.equal({ available: '50', held: '0' });
      await replays(first, () => refund({ poolId, reason: 'Rained off' }));
      await refused(() => refund({ poolId }), CONFLICT, { key: poolId, field: 'reason' });
      await refused(() => settle({ poolId, rake: '100' }), '409 custody/pool_closed', { status: 'refunded' });
    });

    it('needs a pool', () => refused(() => refund({ poolId }), '404 custody/pool_not_found'));
  });

  describe('the same request 50 times at once', () => {
    async function expectOneEffect(call: () => Promise<Answer>, events: readonly string[]): Promise<void> {
      await custody.news();
      const answers = await Promise.all(Array.from({ length: 50 }, call));
      expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
      expect(new Set(answers.map(verdict)).size).to.equal(1);
      expect(answers.filter(({ replayed }) => !replayed)).to.have.length(1);
      expect((await custody.news()).toSorted()).to.deep.equal(events.toSorted());
    }

    it('has one effect', async () => {
      const userId = await custody.test.newPlayer('50');
      await expectOneEffect(
        () => lock({ poolId, betId: 'b1', userId, amount: '20' }),
        ['account FundsHeld', 'pool StakeLocked'],
      );
      await expectOneEffect(() => confirm({ poolId, betId: 'b1' }), ['pool StakeConfirmed']);
      requireStatus(await lock({ poolId, betId: 'b2', userId, amount: '10' }), 201);
      await expectOneEffect(
        () => settle({ poolId, rake: '2', payouts: [{ betId: 'b1', userId, payout: '18' }] }),
        ['pool PoolSettled', 'account HoldClosed', 'account HoldClosed'],
      );
      expect(await funds(userId)).to.deep.equal({ available: '48', held: '0' });
      const second = `${poolId}-2`;
      requireStatus(await lock({ poolId: second, betId: 'b1', userId, amount: '20' }), 201);
      await expectOneEffect(() => refund({ poolId: second }), ['pool PoolRefunded', 'account HoldClosed']);
      expect(await funds(userId)).to.deep.equal({ available: '48', held: '0' });
    });
  });

  describe('of an app without pool escrow', () => {
    before(() => custody.set({ 'live.poolEscrowEnabled': false }));

    const calls = ['lock', 'confirm', 'settle', 'refund', 'reconcile'];
    it('are not there, which is said after route, credential and kind, and before anything else', async () => {
      const { client } = custody.world;
      const { live } = custody.app;
      for (const call of calls) {
        const path = `/custody/${call}`;
        const post = (key: string | null) =>
          client.post(path, '{'.repeat(5_000_000), { key, headers: { 'content-type': 'text/plain' } });
        await refused(() => client.get(path, { key: null }), '405 request/method_not_allowed');
        await refused(() => post(null), '401 auth/missing_credentials');
        await refused(() => post('sk_live_no'), '401 auth/invalid_key');
        await refused(() => post(live.publishableKey), '403 auth/wrong_credential_kind');
        const answer = await client.post(path, '{', {
          key: live.secretKey,
          headers: { 'content-type': 'text/plain' },
        });
        expect(verdict(answer)).to.equal('404 custody/not_found');
        // The other environment of the app has it.
        await refused(() => custody.test.post(path, { x: 1 }), '400 request/invalid');
      }
    });
  });

  it('of another app or environment are absent', async () => {
    await custody.set({ 'live.poolEscrowEnabled': true });
    await orphan(poolId, 'b1', '10');
    for (const [call, fields] of [
      ['confirm', { betId: 'b1' }],
      ['settle', { currency: CHIP, rake: '0', payouts: [] }],
      ['refund', {}],
    ] as const) {
      const path = `/custody/${call}`;
      await refused(() => custody.app.live.post(path, { poolId, ...fields }), '404 custody/pool_not_found');
    }
  });

  describe('bad input', () => {
    const INVALID = '400 request/invalid';
    const userId = 'usr_01h455vb4pex5vsknk084sn02q';

    it('is refused by its form', async () => {
      const locking = { poolId, betId: 'b1', userId, amount: '1' };
      for (const change of [
        { poolId: '' },
        { poolId: 'x'.repeat(65) },
        { betId: 'a/b' },
        { betId: 'ä' },
        { currency: '2' },
        { currency: 2.5 },
        ...['0', '01', '+1', '1e3', '-1', '', '1.0', ' 1', 1, null, (2n ** 64n).toString()].map((amount) => ({
          amount,
        })),
        { amuont: '1' },
        { userId: 7 },
      ]) {
        await refused(() => lock({ ...locking, ...change }), INVALID);
      }
      const payout = { betId: 'b1', userId, payout: '1' };
      for (const change of [
        { rake: (2n ** 64n).toString() },
        { rake: '-1' },
        { payouts: {} },
        { payouts: [{ ...payout, payout: (2n ** 64n).toString() }] },
        { payouts: [{ ...payout, amount: '1' }] },
        { payouts: [{ betId: 'b1', userId }] },
        { payouts: Array(20_001).fill({ betId: 'b', userId: 'u', payout: '0' }) },
      ]) {
        await refused(() => settle({ poolId, ...change }), INVALID);
      }
      for (const reason of ['', '   ', 'x'.repeat(201), 7])
        await refused(() => refund({ poolId, reason }), INVALID);
    });

    it('is refused if a payout is for no confirmed stake of the pool, or one unit is too many', async () => {
      const player = await stake(poolId, 'b1', '10');
      await stake(`${poolId}-other`, 'b2', '10');
      const released = await orphan(poolId, 'b3', '10');
      const pays = (betId: string, to: string, payout: string) => () =>
        settle({ poolId, payouts: [{ betId, userId: to, payout }] });
      await refused(pays('b2', player, '10'), '409 custody/unknown_bet', { betId: 'b2' });
      await refused(pays('__proto__', player, '10'), '409 custody/unknown_bet', { betId: '__proto__' });
      await refused(pays('b1', player, '11'), '409 custody/conservation_violated', {
        staked: '10',
        rake: '0',
        paid: '11',
      });
      nowMs += 900_000;
      const swept = requireStatus(await custody.test.post('/custody/reconcile', {}), 200);
      expect(swept.json.released).to.deep.include({ poolId, betId: 'b3', userId: released, amount: '10' });
      await refused(pays('b3', released, '10'), '409 custody/bet_not_confirmed', { betId: 'b3' });
    });

    it('is refused in a full pool, and holds nothing', async () => {
      const { environment, appId } = custody.test;
      const confirmBy = new Date(nowMs + 86_400_000).toISOString();
      await stakesWritten(
        poolStream(environment, appId, poolId),
        Array.from({ length: 20_000 }, (_, index) => ({
          type: 'StakeLocked',
          data: {
            stake: index + 1,
            betId: `full-${index}`,
            userId,
            currencyId: CHIP,
            amount: BigInt(MOST),
            lockedAt: new Date(nowMs).toISOString(),
            confirmBy,
          },
        })),
      );
      const player = await custody.test.newPlayer('10');
      await refused(
        () => lock({ poolId, betId: 'b1', userId: player, amount: '10' }),
        '409 custody/pool_full',
      );
      expect(await funds(player)).to.deep.equal({ available: '10', held: '0' });
    });

    it('is refused by its size: settle takes 4 MiB, the others 64 KiB', async () => {
      const padded = (bytes: number) => JSON.stringify({ poolId, pad: 'x'.repeat(bytes) });
      const post = (call: string, bytes: number) => () =>
        custody.test.post(`/custody/${call}`, padded(bytes));
      await refused(post('settle', 4 * 1024 * 1024 - 1_000), INVALID);
      await refused(post('settle', 4 * 1024 * 1024), '413 request/too_large');
      for (const call of ['lock', 'confirm', 'refund']) {
        await refused(post(call, 64 * 1024), '413 request/too_large');
      }
    });
  });

  async function stakesWritten(stream: string, events: readonly PoolEvent[]): Promise<void> {
    const metadata = { correlationId: 'spec', actor: 'service', occurredAt: new Date(nowMs).toISOString() };
    for (let from = 0; from < events.length; from += 1_000) {
      await custody.world.store.append({
        stream,
        expectedRevision: from === 0 ? 'noStream' : from - 1,
        events: events.slice(from, from + 1_000).map((event) => {
          const { schemaVersion, ...stored } = poolEvents.encode(event);
          return { id: randomUUID(), ...stored, metadata: encodeMetadata(metadata, schemaVersion) };
        }),
      });
    }
  }

  async function setStanding(userId: string, change: 'suspend' | 'reinstate'): Promise<void> {
    const store = ourLog(custody.world.store);
    const users = createUsers({ handler: createCommandHandler({ store }), store, clock: systemClock });
    const { scopeId } = custody.app;
    const context = { requestId: 'spec', actor: 'operator', deadlineMs: patiently() };
    await users[change]({ environment: 'test', scopeId, userId }, context);
  }
});
