import type { EventStore } from '@coffer/event-store';
import { streamName } from '@coffer/event-store/testing';
import { until } from '@coffer/testing';
import {
  eventTypeFilter,
  excludeSystemEvents,
  type Filter,
  jsonEvent,
  type Position,
  streamNameFilter,
} from '@eventstore/db-client';
import { expect } from 'chai';
import { at, happenedTimes, numbers, positionsOf, revisionsOf } from './testing/events.ts';
import { openWorld, type World } from './testing/gatewayWorld.ts';
import { watch } from './testing/watch.ts';

export function subscriptionsContract(makeStore: () => Promise<EventStore>): void {
  let world: World;
  let store: EventStore;
  beforeEach(async () => {
    store = await makeStore();
    world = await openWorld({ store });
  });
  afterEach(async () => {
    await world.close();
    await store.close();
  });
  const write = (stream: string, count: number) => world.client.appendToStream(stream, happenedTimes(count));

  describe('a subscription to all', () => {
    it('from the start gives what is in the log, says when it has, and continues', async () => {
      await write(streamName(), 1_200);
      const reader = watch(world.client.subscribeToAll());
      await reader.until(() => reader.told.includes('caughtUp'));
      expect(reader.told[0]).to.equal('confirmation');
      expect(positionsOf(reader.events())).to.deep.equal(numbers(1_200, 1));
      expect(reader.told.at(-1)).to.equal('caughtUp');
      await write(streamName(), 2);
      await reader.until(() => reader.events().length === 1_202);
      expect(positionsOf(reader.events().slice(1_200))).to.deep.equal([1_201, 1_202]);
      expect(reader.told.filter((entry) => entry === 'caughtUp')).to.have.length(1);
      await reader.stop();
    });

    it('to an empty log has caught up at once', async () => {
      for (const fromPosition of ['start', 'end', at(0)] as const) {
        const reader = watch(world.client.subscribeToAll({ fromPosition }));
        await reader.until(() => reader.told.includes('caughtUp'));
        expect(reader.told).to.deep.equal(['confirmation', 'caughtUp']);
        await reader.stop();
      }
    });

    it('from a position gives what follows it, without the event there', async () => {
      await write(streamName(), 5);
      const reader = watch(world.client.subscribeToAll({ fromPosition: at(3) }));
      await reader.until(() => reader.told.includes('caughtUp'));
      expect(positionsOf(reader.events())).to.deep.equal([4, 5]);
      await reader.stop();
    });

    it('from the end gives only what is new', async () => {
      await write(streamName(), 5);
      const reader = watch(world.client.subscribeToAll({ fromPosition: 'end' }));
      await reader.until(() => reader.told.includes('caughtUp'));
      await write(streamName(), 1);
      await reader.until(() => reader.events().length > 0);
      expect(positionsOf(reader.events())).to.deep.equal([6]);
      await reader.stop();
    });

    it('that falls behind says so, and again when it has caught up', async () => {
      const reader = watch(world.client.subscribeToAll());
      await reader.until(() => reader.told.includes('caughtUp'));
      await write(streamName(), 1_200);
      await reader.until(() => reader.told.filter((entry) => entry === 'caughtUp').length === 2);
      expect(reader.told.slice(0, 3)).to.deep.equal(['confirmation', 'caughtUp', 'fellBehind']);
      expect(reader.told.at(-1)).to.equal('caughtUp');
      expect(positionsOf(reader.events())).to.deep.equal(numbers(1_200, 1));
      await reader.stop();
    });

    it('from a position that the log has not reached is refused', async () => {
      await write(streamName(), 5);
      for (const fromPosition of [at(6), { commit: 2n ** 63n, prepare: 2n ** 63n }]) {
        const reader = watch(world.client.subscribeToAll({ fromPosition }));
        await reader.until(() => reader.error() !== undefined);
        expect(reader.error()?.message).to.match(/beyond the end of the log, which is at 5/);
        expect(reader.events()).to.deep.equal([]);
      }
    });

    describe('with a filter', () => {
      const [red, blue] = [`red-test.app.1`, `blue-test.app.1`];
      // Positions 1 to 100: every tenth is in the red stream, and every twentieth a Rare one.
      const appendAll = async () => {
        for (const ten of numbers(10, 1)) {
          const type = ten % 2 === 0 ? 'Rare' : 'Usual';
          await write(blue, 9);
          await world.client.appendToStream(red, jsonEvent({ type, data: {} }));
        }
      };
      const tens = numbers(10, 1).map((number) => number * 10);
      const twenties = tens.filter((number) => number % 20 === 0);

      for (const [what, filter, positions] of [
        ['stream name prefixes', streamNameFilter({ prefixes: ['green-', 'red-'] }), tens],
        ['a stream name pattern', streamNameFilter({ regex: '^re.-' }), tens],
        ['an expression of .NET', streamNameFilter({ regex: '(?i)\\ARE\\p{L}-' }), tens],
        [
          'everything except what a look-ahead names',
          eventTypeFilter({ regex: '^(?!(Usual$|Happened$))' }),
          twenties,
        ],
        ['event type prefixes', eventTypeFilter({ prefixes: ['Ra'] }), twenties],
        ['an event type pattern', eventTypeFilter({ regex: 're$' }), twenties],
        ['all but system events', excludeSystemEvents(), numbers(100, 1)],
        ['a prefix that nothing has', eventTypeFilter({ prefixes: ['None'] }), []],
      ] as const satisfies readonly (readonly [string, Filter, readonly number[]])[]) {
        it(`by ${what} gives what it names, past and new`, async () => {
          await appendAll();
          const reader = watch(world.client.subscribeToAll({ filter }));
          await reader.until(() => reader.told.includes('caughtUp'));
          expect(positionsOf(reader.events())).to.deep.equal(positions);
          await world.client.appendToStream(red, jsonEvent({ type: 'Rare', data: {} }));
          const all = positions.length === 0 ? [] : [...positions, 101];
          await reader.until(() => reader.events().length === all.length);
          expect(positionsOf(reader.events())).to.deep.equal(all);
          await reader.stop();
        });
      }

      for (const [every, options] of [
        [32, {}],
        [40, { maxSearchWindow: 10, checkpointInterval: 4 }],
      ] as const) {
        it(`gives a checkpoint every ${every} events, wanted or not, and says when it has caught up`, async () => {
          await appendAll();
          const checkpoints: Position[] = [];
          const filter = eventTypeFilter({
            prefixes: ['None'],
            ...options,
            checkpointReached: (_subscription, position) => {
              checkpoints.push(position);
            },
          });
          const reader = watch(world.client.subscribeToAll({ filter }));
          await reader.until(() => reader.told.includes('caughtUp'));
          const regular = numbers(Math.floor(100 / every), 1).map((number) => at(number * every));
          expect(checkpoints).to.deep.equal([...regular, at(100)]);
          await write(blue, every);
          const live = watch(world.client.subscribeToAll({ fromPosition: at(100) }));
          await live.until(() => live.events().length === every);
          await write(blue, 1);
          await until(() => checkpoints.length >= regular.length + 2);
          expect(checkpoints.at(-1)).to.deep.equal(at(100 + every));
          await reader.stop();
          await live.stop();
        });
      }

      for (const [mistake, regex, said] of [
        ['an invalid regular expression', '(', /cannot be used here/],
        ['an unsupported one', 'a(?=b)', /at the beginning only/],
      ] as const) {
        it(`of ${mistake} is refused`, async () => {
          const reader = watch(world.client.subscribeToAll({ filter: streamNameFilter({ regex }) }));
          await reader.until(() => reader.error() !== undefined);
          expect(reader.error()?.message).to.match(said);
        });
      }
    });
  });

  describe('a subscription to a stream', () => {
    const stream = streamName();
    const readers = async (options: Parameters<World['client']['subscribeToStream']>[1]) => {
      const reader = watch(world.client.subscribeToStream(stream, options));
      await reader.until(() => reader.told.includes('caughtUp'));
      expect(reader.told[0]).to.equal('confirmation');
      return reader;
    };

    for (const [from, before] of [
      ['start', [0, 1, 2]],
      [0n, [1, 2]],
      [1n, [2]],
      [2n, []],
      ['end', []],
    ] as const) {
      it(`from ${from} gives what follows it, then what is new`, async () => {
        await write(stream, 3);
        await write(streamName(), 2);
        const reader = await readers({ fromRevision: from });
        expect(revisionsOf(reader.events())).to.deep.equal(before);
        await write(streamName(), 9);
        await write(stream, 2);
        await reader.until(() => reader.events().length === before.length + 2);
        expect(revisionsOf(reader.events())).to.deep.equal([...before, 3, 4]);
        await reader.stop();
      });
    }

    it('that does not exist yet waits for it', async () => {
      const reader = await readers({});
      await write(stream, 1);
      await reader.until(() => reader.events().length > 0);
      expect(revisionsOf(reader.events())).to.deep.equal([0]);
      await reader.stop();
    });

    it('that falls behind the log says so, and again when it has caught up', async () => {
      const reader = await readers({});
      await write(streamName(), 1_200);
      await reader.until(() => reader.told.filter((entry) => entry === 'caughtUp').length === 2);
      expect(reader.told).to.deep.equal(['confirmation', 'caughtUp', 'fellBehind', 'caughtUp']);
      await reader.stop();
    });

    it('from a revision that the stream has not reached waits until it is passed', async () => {
      const reader = await readers({ fromRevision: 2n });
      await write(stream, 5);
      await reader.until(() => reader.events().length === 2);
      expect(revisionsOf(reader.events())).to.deep.equal([3, 4]);
      await reader.stop();
    });

    it('neither misses nor repeats anything written while it begins', async () => {
      await write(stream, 600);
      const reader = watch(world.client.subscribeToStream(stream));
      for (let round = 0; round < 20; round++) await write(stream, 10);
      await reader.until(() => reader.events().length >= 800);
      expect(revisionsOf(reader.events())).to.deep.equal(numbers(800));
      await reader.stop();
    });
  });
}
