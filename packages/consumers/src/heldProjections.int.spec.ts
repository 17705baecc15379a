import { type LogPlace, LogRewrittenError } from '@coffer/event-store';
import { failureOf } from '@coffer/testing';
import { expect } from 'chai';
import { PoisonEventError } from './errors.ts';
import { holdProjections } from './heldProjections.ts';
import type { Projection } from './projecting.ts';
import { consumerWorld, NAME, POISONS, SCHEMA } from './testing/consumerWorld.ts';
import { placeOf } from './testing/testLog.ts';

describe('projections that are held at a place', () => {
  const world = consumerWorld();
  const { checkpoint, rows, writesRows } = world;

  const hold = () =>
    holdProjections({
      pool: world.pool,
      store: world.log.store,
      key: { schema: SCHEMA, name: NAME },
      projections: [writesRows('A')],
    });
  const { signal } = new AbortController();

  it('takes everything up to the place, and no more', async () => {
    world.log.append(5);
    const held = await hold();
    await held.advance(placeOf(3), { signal });
    expect(await rows()).to.deep.equal(['1 A', '2 A', '3 A']);
    expect(held.checkpoint()).to.include({ position: '3', ordinal: 3 });
  });

  it('takes a page of the log once for many, and is told how far it is after each', async () => {
    world.log.append(25);
    const taken: number[] = [];
    const held = await holdProjections({
      pool: world.pool,
      store: world.log.store,
      key: { schema: SCHEMA, name: NAME },
      projections: [
        writesRows('A'),
        {
          async apply(_db, events) {
            taken.push(events.length);
          },
        },
      ],
      pageSize: 4,
    });
    const reached: number[] = [];
    await held.advance(placeOf(23), { signal, onProgress: (ordinal) => void reached.push(ordinal) });
    expect([taken, reached]).to.deep.equal([[23], [23]]);
  });

  it('takes no more at once than it should hold in memory', async () => {
    world.log.append(3, 'Happened', 'x'.repeat(5 * 1024 * 1024));
    const taken: number[] = [];
    const counts: Projection = {
      async apply(_db, events) {
        taken.push(events.length);
      },
    };
    const key = { schema: SCHEMA, name: NAME };
    const { pool, log } = world;
    const held = await holdProjections({ pool, store: log.store, key, projections: [counts], pageSize: 1 });
    await held.advance(placeOf(3), { signal });
    expect(taken).to.deep.equal([2, 1]);
  });

  it('takes fewer at once if it is not in a hurry', async () => {
    world.log.append(10_500);
    const taken: number[] = [];
    const counts: Projection = {
      async apply(_db, events) {
        taken.push(events.length);
      },
    };
    const { pool, log } = world;
    let isUnhurried = true;
    const key = { schema: SCHEMA, name: NAME };
    const held = await holdProjections({ pool, store: log.store, key, projections: [counts], pageSize: 500 });
    const advance = (to: number) => held.advance(placeOf(to), { signal, isUnhurried: () => isUnhurried });
    await advance(5_000);
    isUnhurried = false;
    await advance(10_500);
    expect(taken).to.deep.equal([4_000, 1_000, 5_500]);
  });

  it('counts no event that the log gives again', async () => {
    world.log.append(4);
    const { pool, log } = world;
    const store: typeof log.store = {
      ...log.store,
      async *subscribeToAll(options) {
        for await (const message of log.store.subscribeToAll(options)) {
          yield message;
          yield message;
        }
      },
    };
    const key = { schema: SCHEMA, name: NAME };
    const held = await holdProjections({ pool, store, key, projections: [writesRows('A')], pageSize: 2 });
    expect(String(await failureOf(held.advance(placeOf(4), { signal })))).to.include(
      'The log gave the event at 1',
    );
    expect(held.checkpoint()).to.include({ position: '2', ordinal: 2 });
    expect(await rows()).to.deep.equal(['1 A', '2 A']);
  });

  for (const [how, isUnhurried, order] of [
    ['while it takes some', false, ['1', '2', '3', 'taken', 'taken']],
    ['after it has taken some, if it is not in a hurry', true, ['1', '2', 'taken', '3', 'taken']],
  ] as const) {
    it(`reads on ${how}`, async () => {
      world.log.append(3, 'Happened', 'x'.repeat(5 * 1024 * 1024));
      const seen: string[] = [];
      const store: typeof world.log.store = {
        ...world.log.store,
        async *subscribeToAll(options) {
          for await (const message of world.log.store.subscribeToAll(options)) {
            if (message.kind === 'events') seen.push(...message.events.map(({ position }) => position));
            yield message;
          }
        },
      };
      const held = await holdProjections({
        pool: world.pool,
        store,
        key: { schema: SCHEMA, name: NAME },
        projections: [],
        pageSize: 1,
      });
      await held.advance(placeOf(3), {
        signal,
        isUnhurried: () => isUnhurried,
        onProgress: () => void seen.push('taken'),
      });
      expect(seen).to.deep.equal(order);
    });
  }

  for (const [poison, projection] of Object.entries(POISONS)) {
    it(`stops in the middle of many before ${poison}, and keeps those before it`, async () => {
      world.log.append(8);
      const held = await holdProjections({
        pool: world.pool,
        store: world.log.store,
        key: { schema: SCHEMA, name: NAME },
        projections: [writesRows('A'), projection],
        pageSize: 2,
      });
      const failure: unknown = await held.advance(placeOf(8), { signal }).catch((error: unknown) => error);
      expect(failure).to.be.instanceOf(PoisonEventError);
      expect((failure as PoisonEventError).event).to.include({ position: '4' });
      expect(await rows()).to.deep.equal(['1 A', '2 A', '3 A']);
      expect(await checkpoint()).to.equal('3');
    });
  }

  it('goes on where rows and checkpoint agree when it was killed in the middle of many', async () => {
    world.log.append(20);
    let deaths = 0;
    const dies: Projection = {
      async apply(db, events) {
        if (events.length < 2 || deaths > 0) return;
        deaths += 1;
        await db.query('select pg_terminate_backend(pg_backend_pid())');
      },
    };
    const holdOn = () =>
      holdProjections({
        pool: world.pool,
        store: world.log.store,
        key: { schema: SCHEMA, name: NAME },
        projections: [writesRows('A'), dies],
        pageSize: 3,
      });
    await (await hold()).advance(placeOf(5), { signal });
    const failure: unknown = await (await holdOn())
      .advance(placeOf(20), { signal })
      .catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(Error).and.not.instanceOf(PoisonEventError);
    expect(await checkpoint()).to.equal('5');
    expect(await rows()).to.have.length(5);
    await (await holdOn()).advance(placeOf(20), { signal });
    expect(await rows()).to.have.length(20);
    expect(await checkpoint()).to.equal('20');
  });

  const gone: Record<string, LogPlace> = {
    'the log ends before the place': placeOf(6),
    'another event stands there': { ...placeOf(5), eventId: 'another' },
  };
  for (const [circumstance, place] of Object.entries(gone)) {
    it(`fails instead of waiting for ever when ${circumstance}: the log was rewritten`, async () => {
      world.log.append(5);
      const held = await hold();
      const failure = await held.advance(place, { signal }).catch((error: unknown) => error);
      expect(failure).to.be.instanceOf(LogRewrittenError);
    });
  }
});
