import { createMemoryEventStore } from '@coffer/event-store/memory';
import { until } from '@coffer/testing';
import { expect } from 'chai';
import { pruneSome, type Retention, startRetention } from './retention.ts';
import { sweepDeleted } from './sending/deliveries.ts';
import { type SendingWorld, startSendingWorld } from './testing/sendingWorld.ts';
import { createToldEvents } from './told.ts';

const DAY = 24 * 60 * 60_000;

describe('the retention of events', () => {
  let world: SendingWorld;
  let retention: Retention | undefined;
  let id: string;
  beforeEach(async () => {
    world = await startSendingWorld();
    ({
      subscription: { id },
    } = await world.subscribe({ url: 'https://hooks.example/' }));
  });
  afterEach(async () => {
    await retention?.stop();
    await world.stop();
  });

  const start = (days: number, isPassedOn = false) => {
    const onTrouble = (error: unknown) => expect.fail(String(error));
    const { pool, now: clock } = world;
    retention = startRetention({ pool, clock, days, isPassedOn, onTrouble, lookEveryMs: 5 });
  };
  const deliver = (from: number, to: number) =>
    world.pool.query(
      `with delivered as (
         update records.webhook_deliveries set state = 'delivered', attempts = 1
          where sequence between $1 and $2 returning subscription_id, sequence)
       insert into records.webhook_attempts (subscription_id, sequence, number, started_at)
       select subscription_id, sequence, 1, now() from delivered`,
      [from, to],
    );
  const kept = async () => {
    const { rows } = await world.pool.query<Record<'events' | 'deliveries' | 'attempts' | 'pruned', number>>(
      `select (select count(*)::integer from records.webhook_events) as events,
         (select count(*)::integer from records.webhook_deliveries) as deliveries,
         (select count(*)::integer from records.webhook_attempts) as attempts,
         (select pruned_sequence::integer from records.webhook_sequences) as pruned`,
    );
    return rows[0];
  };

  it('forgets what is older, with its deliveries and attempts, in parts', async () => {
    await world.emit(1_200, id);
    await deliver(1, 1_200);
    world.advance(3 * DAY);
    await world.emit(2, id);
    await deliver(1_201, 1_202);
    start(2);
    await until(async () => (await kept())?.events === 2);
    expect(await kept()).to.deep.equal({ events: 2, deliveries: 2, attempts: 2, pruned: 1_200 });
  });

  it('forgets also the deliveries of subscriptions that are gone', async () => {
    await world.emit(4, id);
    await deliver(1, 4);
    await world.change((change) => world.subscriptions.remove(change, 'app_1', id));
    const lanes = async () => {
      await sweepDeleted(world.pool);
      return (await world.pool.query('select from records.webhook_lanes')).rowCount;
    };
    expect(await lanes()).to.equal(1);
    world.advance(3 * DAY);
    start(2);
    await until(async () => (await kept())?.pruned === 4);
    expect(await kept()).to.deep.equal({ events: 0, deliveries: 0, attempts: 0, pruned: 4 });
    expect(await lanes()).to.equal(0);
  });

  it('keeps what is still to be passed on, for however long, and of apps of which nothing has been, everything', async () => {
    const told = createToldEvents(world.pool, createMemoryEventStore());
    await world.emit(9, id);
    await deliver(1, 9);
    world.advance(300 * DAY);
    expect(await pruneSome(world.pool, 'app_1', world.now(), true)).to.equal(0);
    await told.passedOn([{ appId: 'app_1', sequence: 4 }]);
    start(2, true);
    await until(async () => (await kept())?.pruned === 4);
    expect(await pruneSome(world.pool, 'app_1', world.now(), true)).to.equal(0);
    await told.passedOn([{ appId: 'app_1', sequence: 9 }]);
    await until(async () => (await kept())?.pruned === 9);
  });

  it('keeps everything again once it is passed on to elsewhere', async () => {
    const told = createToldEvents(world.pool, createMemoryEventStore());
    await world.emit(2);
    world.advance(3 * DAY);
    await told.keepOnlyAfter([{ appId: 'app_1', sequence: 2 }]);
    await told.keepOnlyAfter([{ appId: 'app_2', sequence: 7 }]);
    expect(await pruneSome(world.pool, 'app_1', world.now(), true)).to.equal(0);
    // Where nothing is passed on any more, nothing is kept for it.
    expect(await pruneSome(world.pool, 'app_1', world.now(), false)).to.equal(2);
  });

  it('keeps what is still to be delivered, and all that came after it', async () => {
    await world.emit(9, id);
    await deliver(1, 4);
    await deliver(6, 9);
    world.advance(3 * DAY);
    start(2);
    await until(async () => (await kept())?.pruned === 4);
    expect(await kept()).to.deep.equal({ events: 5, deliveries: 5, attempts: 4, pruned: 4 });
    await deliver(5, 5);
    await until(async () => (await kept())?.pruned === 9);
  });
});
