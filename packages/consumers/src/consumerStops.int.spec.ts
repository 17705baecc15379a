/** Consumers that have stopped for good: how they report it, and how they resume after an event is skipped. */
import { until } from '@coffer/testing';
import { expect } from 'chai';
import { listConsumers, readCheckpoint } from './consumersTable.ts';
import { holdProjections } from './heldProjections.ts';
import { type Projection, projecting } from './projecting.ts';
import { reacting } from './reacting.ts';
import type { Reaction } from './reaction.ts';
import type { SkipLookup } from './skipLookup.ts';
import { consumerWorld, NAME, POISONS, SCHEMA } from './testing/consumerWorld.ts';
import { placeOf } from './testing/testLog.ts';

describe('a consumer that has stopped for good', () => {
  const world = consumerWorld();
  const { start, checkpoint, rows, writesRows } = world;

  it('tells every process where it stopped and why, until another runner begins', async () => {
    world.log.append(8);
    const poison = projecting([writesRows(), POISONS['an event that its projection throws on']]);
    const consumer = start(poison);
    const stopped = async () =>
      (await listConsumers(world.pool, SCHEMA)).find(({ name }) => name === NAME)?.stopped;
    await until(async () => (await stopped()) !== undefined);
    const { at, ...told } = (await stopped()) ?? {};
    expect(at).to.be.instanceOf(Date);
    expect(told).to.deep.equal({
      code: 'consumer/poison_event',
      reason: 'consumer/poison_event: Happened at revision 3 of things cannot be taken: unheard of',
      event: { stream: 'things', revision: 3, type: 'Happened', id: 'event 3', position: '4' },
    });
    await consumer.stop();
    const begun = Promise.withResolvers<void>();
    const goesOn = Promise.withResolvers<void>();
    start(
      projecting([
        {
          async apply() {
            begun.resolve();
            await goesOn.promise;
          },
        },
      ]),
    );
    await begun.promise;
    expect(await stopped()).to.equal(undefined);
    goesOn.resolve();
  });

  for (const [poison, projection] of Object.entries<Projection>(POISONS)) {
    it(`resumes after ${poison} once told to skip it, and skips nothing else`, async () => {
      world.log.append(8);
      const skipped = new Set<string>();
      const passed: string[] = [];
      const work = () =>
        projecting([{ ...writesRows(), pass: async (_db, { id }) => void passed.push(id) }, projection]);
      const isSkipped: SkipLookup = async (name, { id }) => name === NAME && skipped.has(id);
      const consumer = start(work(), { isSkipped });
      // Another runner, as on another node: it stands by until the first has stopped, and stops there as well.
      const other = start(work(), { isSkipped });
      await until(() => [consumer, other].every((one) => one.status().state === 'stopped'));
      skipped.add('event 5');
      skipped.add('event 3');
      world.log.append(1);
      await until(async () => (await checkpoint()) === '9');
      expect(passed).to.deep.equal(['event 3']);
      expect((await rows()).join('')).to.equal('12356789');
      await until(() => [consumer, other].some((one) => one.status().state === 'live'));
      expect((await readCheckpoint(world.pool, { schema: SCHEMA, name: NAME }))?.ordinal).to.equal(9);

      // A new filling skips it as well.
      await world.pool.query(`truncate ${SCHEMA}.seen`);
      const held = await holdProjections({
        pool: world.pool,
        store: world.log.store,
        key: { schema: SCHEMA, name: 'another filling' },
        projections: [writesRows(), projection],
        isSkipped: async (_name, { id }) => skipped.has(id),
      });
      await held.advance(placeOf(9), { signal: new AbortController().signal });
      expect((await rows()).join('')).to.equal('12356789');
      expect(held.checkpoint()?.ordinal).to.equal(9);
    });
  }

  it('resumes once told to skip an event that is quoted with what the database does not store', async () => {
    world.log.append(8);
    const quotes: Projection = {
      async apply(_db, events) {
        if (events.some(({ revision }) => revision === 3)) throw new Error('no such name: a\0b \ud800');
      },
    };
    let isSkipped = false;
    start(projecting([{ ...writesRows(), pass: async () => undefined }, quotes]), {
      isSkipped: async () => isSkipped,
    });
    const stopped = async () => (await listConsumers(world.pool, SCHEMA))[0]?.stopped;
    await until(async () => (await stopped()) !== undefined);
    expect((await stopped())?.reason).to.match(/no such name: a\ufffdb \ufffd$/);
    isSkipped = true;
    await until(async () => (await checkpoint()) === '8');
    expect((await rows()).join('')).to.equal('1235678');
  });

  it('resumes once told to, though it could not be recorded that it stopped', async () => {
    await world.pool.query('alter table records.consumer_stops rename to lost');
    world.log.append(8);
    const poison = POISONS['an event that its projection throws on'];
    let isSkipped = false;
    const consumer = start(projecting([{ ...writesRows(), pass: async () => undefined }, poison]), {
      isSkipped: async () => isSkipped,
    });
    await until(() => consumer.status().state === 'stopped');
    isSkipped = true;
    await until(async () => (await checkpoint()) === '8');
    expect((await rows()).join('')).to.equal('1235678');
  });

  it('takes an event with all its reactions, or skips it as a whole', async () => {
    const seen: string[] = [];
    const takesAll: Reaction = {
      name: 'take everything',
      causeOf: ({ id }) => ({ key: id, target: id }),
      effectOf: () => undefined,
      act: async ({ id }) => void seen.push(id),
    };
    const isGarbled: Reaction = {
      ...takesAll,
      name: 'take what it understands',
      causeOf({ type }) {
        if (type === 'Garbled') throw new Error('no such event');
        return undefined;
      },
    };
    world.log.append(1, 'Garbled');
    world.log.append(1);
    start(reacting([takesAll, isGarbled], { graceMs: 0, saveEveryMs: 5 }), {
      isSkipped: async (_name, { id }) => id === 'event 0',
    });
    await until(() => seen.length > 0);
    expect(seen).to.deep.equal(['event 1']);
  });
});
