/**
 * A service that dies at each step of a lock, of the end of a pool and of a sweep, while another one serves on: the
 * caller's repeat or the process finishes what was begun, once. Source: contract, Custody; ADR 0006.
 */
import { randomUUID } from 'node:crypto';
import type { Role } from '@coffer/host';
import {
  type Answer,
  type AppPlace,
  type Fields,
  requireStatus,
  setUpApp,
  type TestApp,
  verdict,
} from '@coffer/host/testing';
import type { FailPointName } from '@coffer/kernel';
import { expireLeases } from '@coffer/read-models/testing';
import { eventually } from '@coffer/testing';
import { expect } from 'chai';
import { expectBooksToBalance, type LogLine } from './testing/books.ts';
import { clientOf, typesOf, useMortalNodes } from './testing/mortalNodes.ts';
import type { ServiceProcess } from './testing/serviceProcess.ts';
import { writeStakedPool } from './testing/stakedPool.ts';

const CHIP = 2;
const HOUR_MS = 3_600_000;

/** Its stakes are overdue for everybody else as soon as they are locked. */
const AN_HOUR_SLOW = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`
    const { now } = Date;
    globalThis.Date = class extends Date {
      constructor(...args) { if (args.length) super(...args); else super(Date.now()); }
      static now() { return now() - ${HOUR_MS}; }
    };`)}`,
};

interface Subject {
  readonly poolId: string;
  readonly path: string;
  readonly body: object;
  /** Of a service that never died. A lock's confirmBy is not known in advance. */
  readonly answer: { readonly status: number; readonly json: object };
  /** What the players have in the end. */
  readonly funds: readonly (readonly [userId: string, available: string, held: string])[];
}

interface Flow {
  readonly prepare: (place: AppPlace, poolId: string) => Promise<Subject>;
  readonly events: readonly string[];
  /** How many events of the flow make a repeat a replay. */
  readonly decidedAfter: number;
  readonly credits: number;
}

const lock: Flow = {
  events: ['FundsHeld', 'StakeLocked'],
  decidedAfter: 1,
  credits: 0,
  async prepare(place, poolId) {
    const userId = await place.newPlayer('100');
    const body = { poolId, betId: 'b1', userId, currency: CHIP, amount: '60' };
    return {
      poolId,
      path: '/custody/lock',
      body,
      answer: { status: 201, json: { ...body, status: 'locked' } },
      funds: [[userId, '40', '60']],
    };
  },
};

const settle: Flow = {
  events: ['PoolSettled', ...Array(4).fill('HoldClosed')],
  decidedAfter: 1,
  credits: 4,
  async prepare(place, poolId) {
    const { one, two, three } = await stakedPool(place, poolId);
    const payouts = [
      { betId: 'b3', userId: two, payout: '190' },
      { betId: 'b1', userId: one, payout: '95' },
    ];
    const settled = { poolId, status: 'settled', staked: '300', rake: '15', paid: '285', payouts };
    return {
      poolId,
      path: '/custody/settle',
      body: { poolId, currency: CHIP, rake: '15', payouts },
      answer: { status: 200, json: { ...settled, released: ['b4'] } },
      funds: [
        [one, '95', '0'],
        [two, '190', '0'],
        [three, '50', '0'],
      ],
    };
  },
};

const refund: Flow = {
  events: ['PoolRefunded', ...Array(4).fill('HoldClosed')],
  decidedAfter: 1,
  credits: 4,
  async prepare(place, poolId) {
    const { one, two, three } = await stakedPool(place, poolId);
    const refunds = [
      { betId: 'b1', userId: one, amount: '100' },
      { betId: 'b2', userId: two, amount: '100' },
      { betId: 'b3', userId: two, amount: '100' },
      { betId: 'b4', userId: three, amount: '50' },
    ];
    return {
      poolId,
      path: '/custody/refund',
      body: { poolId, reason: 'Rained off' },
      answer: { status: 200, json: { poolId, status: 'refunded', refunds } },
      funds: [
        [one, '100', '0'],
        [two, '200', '0'],
        [three, '50', '0'],
      ],
    };
  },
};

/** Three stakes that are confirmed, of which two are one player's, and one that is not. */
async function stakedPool(place: AppPlace, poolId: string) {
  const [one, two, three] = [
    await place.newPlayer('100'),
    await place.newPlayer('200'),
    await place.newPlayer('50'),
  ];
  for (const [betId, userId] of [
    ['b1', one],
    ['b2', two],
    ['b3', two],
  ] as const) {
    requireStatus(
      await place.post('/custody/lock', { poolId, betId, userId, currency: CHIP, amount: '100' }),
      201,
    );
    requireStatus(await place.post('/custody/confirm', { poolId, betId }), 200);
  }
  const last = { poolId, betId: 'b4', userId: three, currency: CHIP, amount: '50' };
  requireStatus(await place.post('/custody/lock', last), 201);
  return { one, two, three };
}

interface Death {
  readonly at: FailPointName;
  readonly of: 'lock' | 'settlement' | 'refund';
  /** How many of the flow's events are then in the log. */
  readonly written: number;
}

const FLOWS = { lock, settlement: settle, refund };

const REPEATED: readonly Death[] = [
  { at: 'lock.beforeHold', of: 'lock', written: 0 },
  { at: 'lock.held', of: 'lock', written: 1 },
  { at: 'lock.locked', of: 'lock', written: 2 },
  { at: 'pool.beforeClose', of: 'settlement', written: 0 },
  { at: 'pool.halfCredited', of: 'settlement', written: 2 },
  { at: 'pool.credited', of: 'settlement', written: 5 },
  { at: 'pool.beforeClose', of: 'refund', written: 0 },
  { at: 'pool.closed', of: 'refund', written: 1 },
  { at: 'pool.allButOneCredited', of: 'refund', written: 4 },
];
const LEFT: readonly Death[] = [
  { at: 'lock.held', of: 'lock', written: 1 },
  { at: 'pool.closed', of: 'settlement', written: 1 },
  { at: 'pool.allButOneCredited', of: 'settlement', written: 4 },
  { at: 'pool.halfCredited', of: 'refund', written: 2 },
  { at: 'pool.credited', of: 'refund', written: 5 },
];

describe('a service that dies with a pool', () => {
  const nodes = useMortalNodes();
  /** It serves on, without the process that finishes what others began. */
  let node: ServiceProcess;
  let app: TestApp;
  /** What nobody repeats. */
  const left = new Map<Death, Subject>();

  before(async () => {
    node = await startSlow(['api', 'projector']);
    app = await newApp();
    for (const death of LEFT) left.set(death, await dieAt(death));
    // The first process to find it dies as well. It comes before all else, so that nobody waits for the end of its lease.
    const doomed = await startSlow(['process-manager'], 'pool.halfCredited');
    expect(await doomed.ended).to.include({ signal: 'SIGKILL' });
  });

  const startSlow = (roles: readonly Role[], failPoint?: FailPointName) =>
    nodes.start(roles, failPoint, { variables: AN_HOUR_SLOW });

  async function newApp(): Promise<TestApp> {
    const client = clientOf(node);
    const made = await setUpApp(client);
    const settings = { poolEscrowEnabled: true };
    requireStatus(await client.post(`/portal/app/${made.appId}/settings`, { settings }), 200);
    return made;
  }

  const sendTo = (to: ServiceProcess, { path, body }: Pick<Subject, 'path' | 'body'>, { test } = app) =>
    clientOf(to).post(path, body, { key: test.secretKey });

  async function dieDuring(doomed: ServiceProcess, call: Promise<unknown>): Promise<void> {
    expect(await call.catch((error: unknown) => error), 'no answer').to.be.instanceOf(TypeError);
    expect(await doomed.ended).to.include({ signal: 'SIGKILL' });
  }

  /** What the log has of these types for the pool. */
  async function loggedOf(poolId: string, types: readonly string[]): Promise<readonly LogLine[]> {
    const lines = await clientOf(node).lines('/portal/log');
    return lines.filter((line) => types.includes(String(line.type)) && JSON.stringify(line).includes(poolId));
  }

  const creditsOf = async (poolId: string, { test } = app) =>
    requireStatus(await test.get(`/custody/pools/${poolId}`), 200).json.credits;

  async function dieAt({ at, of, written }: Death): Promise<Subject> {
    const flow = FLOWS[of];
    const subject = await flow.prepare(app.test, `round-${randomUUID()}`);
    const doomed = await startSlow(['api'], at);
    await dieDuring(doomed, sendTo(doomed, subject));
    expect(typesOf(await loggedOf(subject.poolId, flow.events))).to.deep.equal(flow.events.slice(0, written));
    return subject;
  }

  /** The answer of a service that never died, and every effect once. */
  async function expectDone(answer: Answer, subject: Subject, flow: Flow): Promise<void> {
    const { poolId, path, body, funds } = subject;
    const { confirmBy, ...rest } = answer.json;
    expect({ status: answer.status, json: rest }).to.deep.equal(subject.answer);
    const logged = await loggedOf(poolId, flow.events);
    expect(typesOf(logged)).to.deep.equal(flow.events);
    expect(Object(logged.find(({ type }) => type === 'StakeLocked')?.data).confirmBy).to.equal(confirmBy);
    for (const [userId, available, held] of funds) {
      expect(await app.test.funds(userId)).to.deep.equal({ available, held });
    }
    expect(await creditsOf(poolId)).to.deep.equal({ done: flow.credits, of: flow.credits });
    expect(await sendTo(node, { path, body })).to.include({
      status: answer.status,
      text: answer.text,
      replayed: true,
    });
    expect(typesOf(await loggedOf(poolId, flow.events))).to.deep.equal(flow.events);
  }

  describe('which the caller repeats elsewhere', () => {
    for (const death of REPEATED) {
      const { at, of, written } = death;
      it(`at ${at} of a ${of}: the repeat gets the original answer, and all is done once`, async () => {
        const subject = await dieAt(death);
        const flow = FLOWS[of];
        const repeat = await sendTo(node, subject);
        expect(repeat.replayed).to.equal(written >= flow.decidedAfter);
        await expectDone(repeat, subject, flow);
      });
    }
  });

  describe('which nobody repeats', () => {
    before(() => startSlow(['process-manager']));

    for (const death of LEFT) {
      const { at, of } = death;
      it(`at ${at} of a ${of}: the process of another finishes it, once`, async () => {
        const subject = left.get(death) ?? expect.fail();
        const flow = FLOWS[of];
        await eventually(
          `all of the ${of} is in the log`,
          async () => (await loggedOf(subject.poolId, flow.events)).length >= flow.events.length || undefined,
        );
        const answer = await sendTo(node, subject);
        expect(answer.replayed).to.equal(true);
        await expectDone(answer, subject, flow);
      });
    }
  });

  describe('in a sweep', () => {
    const events = ['FundsHeld', 'StakeLocked', 'StakeReleased', 'HoldClosed'];
    const reconcile = { path: '/custody/reconcile', body: {} };

    /** In an app of its own. */
    async function overdueStake() {
      const own = await newApp();
      const subject = await lock.prepare(own.test, `round-${randomUUID()}`);
      requireStatus(await sendTo(node, subject, own), 201);
      return { own, subject, userId: subject.funds[0]?.[0] ?? expect.fail() };
    }
    async function expectReleased({ own, subject, userId }: Awaited<ReturnType<typeof overdueStake>>) {
      const { poolId } = subject;
      await eventually(
        'the stake is given back',
        async () => (await loggedOf(poolId, events)).length >= events.length || undefined,
      );
      expect(requireStatus(await sendTo(node, reconcile, own), 200).json).to.deep.equal({ released: [] });
      expect(typesOf(await loggedOf(poolId, events))).to.deep.equal(events);
      expect(await own.test.funds(userId)).to.deep.equal({ available: '100', held: '0' });
      expect(verdict(await sendTo(node, subject, own))).to.equal('409 custody/lock_released');
      requireStatus(await own.test.reconcile(), 200);
    }

    it('at sweep.released, by a request: the process of another gives the stake back, once', async () => {
      const stake = await overdueStake();
      const doomed = await nodes.start(['api'], 'sweep.released');
      await dieDuring(doomed, sendTo(doomed, reconcile, stake.own));
      await expectReleased(stake);
    });

    it('at sweep.givenBack, by the sweep itself: the stake was given back, once', async () => {
      const stake = await overdueStake();
      // The sweep finds it in the rows.
      requireStatus(await stake.own.test.get('/custody/pools'), 200);
      const doomed = await nodes.start(['process-manager'], 'sweep.givenBack');
      expect(await doomed.ended).to.include({ signal: 'SIGKILL' });
      await expectReleased(stake);
    });
  });

  describe('in the end', () => {
    it('reconciliation finds nothing, closed pools owe nothing, and the books balance', async () => {
      const { json } = requireStatus(await app.test.reconcile(), 200);
      expect(json).to.deep.include({ ok: true, inFlight: [] });
      const chip = Object(json.totals).find(({ currency }: Fields) => currency === 'CHIP');
      const settlements = [...REPEATED, ...LEFT].filter(({ of }) => of === 'settlement');
      expect(chip).to.include({ pools: '0', house: `${settlements.length * 15}` });
      await expectBooksToBalance(clientOf(node));
    });
  });
});

describe('a service that dies in the middle of the credits of 20,000 stakes', () => {
  const nodes = useMortalNodes();
  const PLAYERS = 250;
  const STAKES = 20_000;

  it('is started again: each stake is credited once, and the books balance', async () => {
    const node = await nodes.start(['api', 'projector']);
    const client = clientOf(node);
    const { appId, test } = await setUpApp(client);
    const settings = { poolEscrowEnabled: true };
    requireStatus(await client.post(`/portal/app/${appId}/settings`, { settings }), 200);
    const poolId = 'full';
    const credits = async () =>
      Object(requireStatus(await test.get(`/custody/pools/${poolId}`), 200).json.credits);

    const players = await Promise.all(Array.from({ length: PLAYERS }, () => test.newPlayer('8000')));
    const bets = players.flatMap((userId, player) =>
      // One stake of each player is confirmed. Half of these win, and all others go back.
      Array.from({ length: STAKES / PLAYERS }, (_, nth) => ({
        betId: `${nth}:${player}`,
        userId,
        isConfirmed: nth === 0,
      })),
    );
    await writeStakedPool(nodes.databaseUrl(), test, poolId, 100n, bets);
    const payouts = bets
      .filter(({ isConfirmed }) => isConfirmed)
      .slice(0, PLAYERS / 2)
      .map(({ betId, userId }) => ({ betId, userId, payout: '190' }));
    const settlement = { poolId, currency: CHIP, rake: '1250', payouts };
    requireStatus(await test.post('/custody/settle', settlement), 200);

    // With others under way, and then with a half done.
    for (const at of ['pool.oneCredited', 'pool.halfCredited'] as const) {
      const doomed = await nodes.start(['process-manager'], at);
      expect(await doomed.ended).to.include({ signal: 'SIGKILL' });
      await expireLeases(nodes.pool(), 'records');
    }
    const closed = typesOf(await client.lines('/portal/log')).filter((type) => type === 'HoldClosed');
    expect(closed).to.have.length((STAKES >> 1) - 1);

    await nodes.start(['process-manager']);
    await eventually('all stakes are credited', async () => {
      const { done, of } = await credits();
      expect(of).to.equal(STAKES);
      return done === of || undefined;
    });
    const [winner = '', loser = ''] = [players[0], players.at(-1)];
    expect(await test.funds(winner)).to.deep.equal({ available: '8090', held: '0' });
    expect(await test.funds(loser)).to.deep.equal({ available: '7900', held: '0' });
    const { json } = requireStatus(await test.reconcile(), 200);
    expect(json).to.deep.include({ ok: true, inFlight: [] });
    await expectBooksToBalance(client);
  });
});
