import { until } from '@coffer/testing';
import { expect } from 'chai';
import { deliveriesOf, resendRange, statisticsOf } from '../deliveryLog.ts';
import { type Receiver, startReceiver } from '../testing/receiver.ts';
import { type SendingWorld, startSendingWorld } from '../testing/sendingWorld.ts';
import { noteRound, readDue, recordEnded, settleLost } from './deliveries.ts';
import { ALIVE_FOR_MS, holdLanes } from './holding.ts';

const ANSWERED = { status: 200, error: null, durationMs: 3, answerHead: '' } as const;
const REFUSED = { ...ANSWERED, status: 500 } as const;
const NO_ROUNDS = { touched: [], over: [] };

describe('the lanes of several senders', () => {
  let world: SendingWorld;
  let receiver: Receiver;
  beforeEach(async () => {
    world = await startSendingWorld();
    receiver = await startReceiver();
  });
  afterEach(async () => {
    receiver.close();
    await world.stop();
  });

  const endpoints = (count: number) =>
    Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const { subscription } = await world.subscribe({ url: `${receiver.url}/${index}` });
        return subscription.id;
      }),
    );
  const endpoint = async () => (await endpoints(1))[0] ?? expect.fail('There is no endpoint.');
  /** How many each living sender holds, the most first. */
  const held = async () => {
    const { rows } = await world.pool.query<{ count: number }>(
      `select count(l.subscription_id)::integer as count
       from records.webhook_senders s left join records.webhook_lanes l using (sender_id)
       where s.alive_until > $1 group by sender_id order by 1 desc`,
      [world.now()],
    );
    return rows.map(({ count }) => count);
  };
  const areHeld = (...counts: readonly number[]) =>
    until(async () => String(await held()) === String(counts));
  const allDelivered = () =>
    until(async () => (await world.deliveries()).every(({ state }) => state === 'delivered'));
  const sent = () =>
    receiver.received.map(({ path, body }) => `${path} ${JSON.parse(body.toString()).sequence}`).sort();

  /** A sender that dies in the middle: it has noted attempts of what is due, and nobody knows whether it made them. */
  async function dies(id: string) {
    await holdLanes(world.pool, 'dead', world.now());
    const due = await readDue(
      world.pool,
      [{ subscriptionId: id, ahead: 10, room: 10, taken: [] }],
      world.now(),
    );
    await noteRound(world.pool, 'dead', due.toReversed(), world.now());
    return due.map((one) => ({ ...one, startedAt: world.now() }));
  }
  const attempts = async (id: string) => {
    const [delivery] = await deliveriesOf(world.pool, 'app_1', id, { limit: 1 });
    return delivery?.attempts.map(({ number, status, error }) => ({ number, status, error }));
  };
  const outcome = async () => {
    const [{ state, attempts: made, failures } = expect.fail()] = await world.deliveries();
    return { state, made, failures };
  };

  it('are shared out anew when a sender comes or goes, and nothing is sent twice', async () => {
    const ids = await endpoints(6);
    const first = world.startSender();
    await world.emit(100, ...ids);
    await areHeld(6);
    const second = world.startSender();
    await world.emit(100, ...ids);
    await areHeld(3, 3);
    world.startSender();
    await world.emit(100, ...ids);
    await areHeld(2, 2, 2);
    // A stop does not wait long for attempts that are under way.
    await allDelivered();
    await first.stop();
    await areHeld(3, 3);
    await second.stop();
    await areHeld(6);
    await world.emit(100, ...ids);
    await allDelivered();
    expect(sent()).to.have.length(2_400);
    expect(new Set(sent()).size).to.equal(2_400);
  });

  it('are held without a lock or a write until their sender has to show itself again', async () => {
    const row = async () =>
      (await world.pool.query('select ctid, xmin, xmax, alive_until from records.webhook_senders')).rows;
    await holdLanes(world.pool, 'one', world.now());
    const shown = await row();
    world.advance(1_000);
    await holdLanes(world.pool, 'one', world.now());
    expect(await row()).to.deep.equal(shown);
    world.advance(1);
    await holdLanes(world.pool, 'one', world.now());
    const [{ alive_until: aliveUntil } = expect.fail()] = await row();
    expect(aliveUntil).to.deep.equal(new Date(world.now().getTime() + ALIVE_FOR_MS));
  });

  it('are another sender’s once theirs has not been seen for a while', async () => {
    const id = await endpoint();
    await holdLanes(world.pool, 'dead', world.now());
    world.startSender();
    const free = await endpoint();
    await world.emit(1, id, free);
    await until(() => receiver.received.length === 1);
    world.advance(ALIVE_FOR_MS - 1);
    await world.emit(1, free);
    await until(() => receiver.received.length === 2);
    expect(await areOf(id)).to.deep.equal(['pending']);
    world.advance(1);
    await allDelivered();
  });
  const areOf = async (id: string) =>
    (await world.deliveries()).filter((one) => one.id === id).map(({ state }) => state);

  it('show an attempt while it is under way, and make it again when its sender has died', async () => {
    const id = await endpoint();
    await world.emit(1, id);
    await dies(id);
    expect(await attempts(id)).to.deep.equal([{ number: 1, status: null, error: 'unknown' }]);
    world.advance(ALIVE_FOR_MS);
    world.startSender();
    await allDelivered();
    expect(await attempts(id)).to.deep.equal([
      { number: 1, status: null, error: 'unknown' },
      { number: 2, status: 200, error: null },
    ]);
    expect(await outcome()).to.deep.equal({ state: 'delivered', made: 2, failures: 0 });
    const { rowCount } = await world.pool.query('select from records.webhook_rounds');
    expect(rowCount).to.equal(0);
  });

  it('begin nothing for a sender that was taken for dead', async () => {
    const id = await endpoint();
    await world.emit(1, id);
    await holdLanes(world.pool, 'late', world.now());
    world.advance(ALIVE_FOR_MS);
    const due = [{ subscriptionId: id, sequence: '1', number: 1 }];
    expect(await noteRound(world.pool, 'late', due, world.now())).to.equal(undefined);
  });

  it('take a late success, and no late failure, of an attempt that counts as broken off', async () => {
    const [kept, refused] = await endpoints(2);
    await world.emit(1, kept ?? '', refused ?? '');
    for (const [id, late] of [[kept, ANSWERED] as const, [refused, REFUSED] as const]) {
      const begun = await dies(id ?? '');
      world.advance(ALIVE_FOR_MS);
      await settledBy('next');
      await recordEnded(
        world.pool,
        begun.map((one) => ({ ...one, outcome: late })),
        NO_ROUNDS,
        world.now(),
      );
    }
    const ends = (await world.deliveries()).map(({ id, state, failures }) => ({ id, state, failures }));
    expect(ends).to.have.deep.members([
      { id: kept, state: 'delivered', failures: 0 },
      { id: refused, state: 'pending', failures: 0 },
    ]);
    expect(await attempts(refused ?? '')).to.deep.equal([{ number: 1, status: 500, error: null }]);
    expect(await attempts(kept ?? '')).to.deep.equal([{ number: 1, status: 200, error: null }]);
  });
  async function settledBy(senderId: string) {
    await holdLanes(world.pool, senderId, world.now());
    await settleLost(world.pool, world.now());
  }

  it('make again only what of a round was not recorded when its sender died', async () => {
    const id = await endpoint();
    await world.emit(3, id);
    const [first] = await dies(id);
    await recordEnded(world.pool, first ? [{ ...first, outcome: ANSWERED }] : [], NO_ROUNDS, world.now());
    world.advance(ALIVE_FOR_MS);
    world.startSender();
    await allDelivered();
    expect(sent()).to.deep.equal(['/0 2', '/0 3']);
    const log = await deliveriesOf(world.pool, 'app_1', id, { limit: 3 });
    expect(log.map((one) => one.attempts.map(({ error }) => error))).to.deep.equal([
      ['unknown', null],
      ['unknown', null],
      [null],
    ]);
  });

  describe('wait for a sender that was taken for dead and is not,', () => {
    /** The first is held up in the middle of its rows until the next one waits as well. */
    async function meet(lock: string, ...works: readonly (() => Promise<void>)[]) {
      const holder = await world.pool.connect();
      try {
        await holder.query(`begin; ${lock}`);
        const working: Promise<void>[] = [];
        for (const work of works) {
          working.push(work());
          await until(async () => (await waiting()) === working.length);
        }
        await holder.query('commit');
        await Promise.all(working);
      } finally {
        // Closed: a failure leaves its transaction open.
        holder.release(true);
      }
    }
    const waiting = async () =>
      (
        await world.pool.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
      ).rowCount;
    const lockOf = (sequence: number) =>
      `select from records.webhook_deliveries where sequence = ${sequence} for update`;
    const states = async () => (await world.deliveries()).map(({ state }) => state);

    async function begun() {
      const id = await endpoint();
      await world.emit(4, id);
      const attempts = await dies(id);
      const { rows } = await world.pool.query<{ id: string }>(
        'select round_id as id from records.webhook_rounds',
      );
      world.advance(ALIVE_FOR_MS);
      return {
        ended: attempts.map((attempt) => ({ ...attempt, outcome: ANSWERED })),
        rounds: rows.map((round) => round.id),
      };
    }

    it('and records what ended', async () => {
      const { ended, rounds } = await begun();
      await meet(
        lockOf(2),
        () => recordEnded(world.pool, ended, { touched: rounds, over: rounds }, world.now()),
        () => settleLost(world.pool, world.now()),
      );
      expect(await states()).to.deep.equal(['delivered', 'delivered', 'delivered', 'delivered']);
    });

    it('and records some of a round', async () => {
      const { ended, rounds } = await begun();
      await meet(
        lockOf(2),
        () => recordEnded(world.pool, ended.slice(0, 3), { touched: rounds, over: [] }, world.now()),
        () => settleLost(world.pool, world.now()),
      );
      expect(await states()).to.deep.equal(['delivered', 'delivered', 'delivered', 'pending']);
    });

    it('and records several rounds, wherever they are', async () => {
      for (let count = 0; count < 3; count += 1) await begun();
      const { rows } = await world.pool.query<{ id: string }>(
        'select round_id as id from records.webhook_rounds order by round_id',
      );
      const [first, second, third] = rows.map(({ id }) => id);
      // What is updated is where a scan comes last.
      for (const id of [second, first])
        await world.pool.query(
          'update records.webhook_rounds set started_at = started_at where round_id = $1',
          [id],
        );
      const over = [first, second, third].map((id) => id ?? expect.fail('There are three rounds.'));
      await meet(
        `select from records.webhook_rounds where round_id = ${second} for update`,
        () => recordEnded(world.pool, [], { touched: [], over }, world.now()),
        () => settleLost(world.pool, world.now()),
      );
      expect((await world.pool.query('select from records.webhook_rounds')).rowCount).to.equal(0);
      expect(new Set((await world.deliveries()).map(({ attempts }) => attempts))).to.deep.equal(new Set([0]));
    });
  });

  it('log a success once, however often it is recorded', async () => {
    const id = await endpoint();
    await world.emit(1, id);
    const begun = await dies(id);
    const ended = begun.map((one) => ({ ...one, outcome: ANSWERED }));
    for (let count = 0; count < 3; count += 1) await recordEnded(world.pool, ended, NO_ROUNDS, world.now());
    expect(await attempts(id)).to.deep.equal([{ number: 1, status: 200, error: null }]);
    expect(await statisticsOf(world.pool, id, world.now())).to.include({ attempts: 1, succeeded: 1 });
  });

  it('keep the attempts of a delivery that is sent again', async () => {
    const id = await endpoint();
    await world.emit(1, id);
    world.startSender();
    await allDelivered();
    const recipient = { id, events: null, environment: null };
    for (const count of [2, 3]) {
      await resendRange(world.pool, 'app_1', recipient, { from: 1n, to: 1n }, world.now());
      await until(() => receiver.received.length === count);
      await allDelivered();
    }
    expect(await attempts(id)).to.deep.equal(
      [1, 2, 3].map((number) => ({ number, status: 200, error: null })),
    );
    expect(await statisticsOf(world.pool, id, world.now())).to.include({ attempts: 3, succeeded: 3 });
  });
});
