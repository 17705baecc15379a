/** What is decided on the outline of a state that left the cache, and when the whole state is read instead. */
import { eventCodec, type StreamType, WholeStateNeeded } from '@coffer/kernel';
import { eventually, patiently } from '@coffer/testing';
import { expect } from 'chai';
import { z } from 'zod';
import { createCommandHandler } from './commandHandler.ts';
import { createMemoryEventStore } from './memory/memoryEventStore.ts';
import { createMemorySnapshotStore } from './memory/memorySnapshotStore.ts';
import { createOutlineMemory, type FirstBlock } from './outlineMemory.ts';
import type { EventStore } from './port.ts';
import type { SnapshotStore } from './snapshots.ts';
import { createOutlines, type OutlinedState } from './stateOutlines.ts';
import { anyTypeOf } from './works.ts';

// A guest list: whoever is on it is not added again. Its outline has the first letters of the names.

interface Guests {
  readonly count: number;
  readonly isClosed: boolean;
  readonly names: readonly string[];
  /** First letters of further names, of which no more is known. */
  readonly letters: string | undefined;
}
interface Coming {
  readonly name: string;
}
const guestEvents = eventCodec({ Came: { data: z.object({ name: z.string() }) } });
const LAST = 'x: the last one';
const guests: StreamType<Coming, { type: 'Came'; data: Coming }, Guests, number> = {
  category: 'guests',
  version: 1,
  codec: guestEvents,
  initialState: { count: 0, isClosed: false, names: [], letters: undefined },
  decide(state, { name }) {
    if (mayHave(state, name)) throw new WholeStateNeeded();
    const place = state.names.indexOf(name);
    return place < 0
      ? { events: [{ type: 'Came', data: { name } }], answer: state.count + 1 }
      : { events: [], answer: place + 1, replayed: true };
  },
  evolve(state, { data: { name } }) {
    if (mayHave(state, name)) throw new WholeStateNeeded();
    const { count, names } = state;
    return { ...state, count: count + 1, isClosed: name === LAST, names: [...names, name] };
  },
  sizeOf: ({ count }) => (count < 100 ? 2_000 : 50_000),
  isEnded: ({ isClosed }) => isClosed,
  snapshot: {
    encode: ({ names, letters }) =>
      letters === undefined ? { facts: names } : expect.fail('An outline is not saved.'),
    decode: ({ facts }) => {
      const names = z.array(z.string()).parse(facts);
      return { ...guests.initialState, count: names.length, names };
    },
  },
  outlines: {
    of: ({ count, names, letters = '' }) => ({
      facts: `${count}`,
      marks: letters + names.map(([letter = '']) => letter).join(''),
    }),
    restore: ({ facts, marks }) => ({ ...guests.initialState, count: Number(facts), letters: marks }),
    isWhole: ({ letters }) => letters === undefined,
  },
};
const mayHave = ({ letters }: Guests, [letter = '']: string): boolean => letters?.includes(letter) ?? false;

const context = {
  metadata: { correlationId: 'c', actor: 'spec', occurredAt: '2026-01-01T00:00:00.000Z' },
  deadlineMs: patiently(),
};
const streamOf = (number: number) => `guests-test.app_1.${number}`;
const letter = (number: number): string => String.fromCharCode(0x100 + number);

describe('the outline of a state that left the cache', () => {
  let log: EventStore;
  let snapshots: ReturnType<typeof createMemorySnapshotStore>;
  let read: string[];
  let errors: unknown[];
  beforeEach(() => {
    log = createMemoryEventStore();
    snapshots = createMemorySnapshotStore();
    [read, errors] = [[], []];
  });
  afterEach(() => expect(errors).to.deep.equal([]));

  /** With room for two states. */
  const start = (store: Partial<SnapshotStore> = {}, cacheBytes = 5_000) => {
    const handler = createCommandHandler({
      store: {
        ...log,
        readTails(tails, limit) {
          read.push(...tails.map(({ stream }) => stream));
          return log.readTails(tails, limit);
        },
      },
      snapshots: { ...snapshots, ...store },
      cacheBytes,
      onSnapshotError: (error) => errors.push(error),
    });
    const come = async (number: number, ...names: readonly string[]) => {
      const settled = await handler.executeAll(
        guests,
        streamOf(number),
        names.map((name) => ({ name })),
        context,
      );
      return settled.map((one) => (one.status === 'decided' ? one.answer : one.reason));
    };
    return {
      ...handler,
      come,
      whole: (number: number) => handler.load(guests, streamOf(number), context),
      /** Other streams take the room. */
      async pushOut() {
        for (const other of [101, 102]) await come(other, letter(1_000 + handler.stats().evictions));
        read = [];
      },
      settled: () =>
        eventually('nothing waits to be saved', () => handler.stats().snapshotsWaiting === 0 || undefined),
    };
  };
  const readOf = (number: number) => read.filter((stream) => stream === streamOf(number)).length;

  it('suffices for most decisions, and nothing is read', async () => {
    const { come, pushOut, stats } = start();
    await come(1, 'Ann', 'Bob');
    for (const [index, name] of ['Cid', 'Dan', 'Eve'].entries()) {
      await pushOut();
      const hits = stats().outlineHits;
      expect(await come(1, name)).to.deep.equal([3 + index]);
      expect(stats().outlineHits).to.equal(hits + 1);
      expect(readOf(1)).to.equal(0);
    }
  });

  it('gives way to the whole state where it does not suffice, and all that came together is decided on that', async () => {
    const { come, pushOut } = start();
    await come(1, 'Ann', 'Bob');
    await pushOut();
    expect(await come(1, 'Cid', 'Ann', 'Al', 'Bob')).to.deep.equal([3, 1, 4, 2]);
    expect(readOf(1)).to.equal(1);
    await pushOut();
    expect(await come(1, 'Al', 'Cid')).to.deep.equal([4, 3]);
  });

  it('is not what a reader gets', async () => {
    const { come, pushOut, whole, stats } = start();
    await come(1, 'Ann', 'Bob');
    await pushOut();
    expect(stats().outlinedStreams).to.be.above(0);
    expect((await whole(1)).names).to.deep.equal(['Ann', 'Bob']);
    await pushOut();
    await come(1, 'Cid');
    expect((await whole(1)).names).to.deep.equal(['Ann', 'Bob', 'Cid']);
  });

  it('is enough for a reader that says so, if it is current', async () => {
    const [one, other] = [start(), start()];
    await one.come(1, 'Ann', 'Bob');
    await one.pushOut();
    const facts = () => one.load(guests, streamOf(1), { ...context, outlineSuffices: true });
    expect(await facts()).to.include({ count: 2 });
    expect(readOf(1)).to.equal(0);
    await other.come(1, 'Cid');
    expect(await facts()).to.include({ count: 3 });
  });

  it('takes what another process has appended, or gives way to the whole state', async () => {
    const [one, other] = [start(), start()];
    await one.come(1, 'Ann');
    await one.pushOut();
    await other.come(1, 'Bob', 'Al');
    expect(await one.come(1, 'Cid')).to.deep.equal([4]);
    await one.pushOut();
    await other.come(1, 'Dan');
    expect(await one.come(1, 'Eve')).to.deep.equal([6]);
    expect((await one.whole(1)).names).to.deep.equal(['Ann', 'Bob', 'Al', 'Cid', 'Dan', 'Eve']);
  });

  it('is not needed while the state is on its way to a snapshot, unless it is the newer one', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const { come, pushOut, stats } = start({ save: (batch) => held.then(() => snapshots.save(batch)) });
    await come(1, ...Array.from({ length: 40 }, (_, number) => letter(number)));
    await pushOut();
    await new Promise(setImmediate);
    expect(await come(1, letter(7), 'Ann')).to.deep.equal([8, 41]);
    expect(stats().outlineHits).to.equal(0);
    await pushOut();
    const { outlineHits } = stats();
    expect(await come(1, 'Bob')).to.deep.equal([42]);
    expect(stats().outlineHits).to.equal(outlineHits + 1);
    expect(readOf(1)).to.equal(0);
    release();
  });

  it('takes seven eighths of the room at the most', async () => {
    const { come, stats } = start({}, 64_000);
    for (let number = 0; number < 200; number++) await come(number, 'Ann');
    const { cachedStreams, outlinedStreams, cachedBytes } = stats();
    expect(cachedStreams).to.be.within(3, 4);
    expect(outlinedStreams).to.be.within(100, 120);
    expect(cachedBytes).to.be.at.most(64_000);
  });

  it('is mostly found where all streams are used in turn and a fifth more of them have room', async () => {
    const { come, stats } = start({}, 64_000);
    for (let round = 0; round < 10; round++) {
      for (let number = 0; number < 140; number++) await come(number, letter(round));
    }
    expect(stats().outlineHits / (9 * 140)).to.be.within(0.4, 0.9);
  });

  it('leaves in the end if it is not used', async () => {
    const { come } = start({}, 64_000);
    for (let number = 0; number < 2_000; number++) await come(number, 'Ann');
    read = [];
    for (let number = 0; number < 50; number++) await come(number, 'Bob');
    expect(read).to.have.length(50);
  });

  it('leaves before a state that needs more than that', async () => {
    const { come, stats } = start({}, 64_000);
    for (let number = 0; number < 200; number++) await come(number, 'Ann');
    await come(300, ...Array.from({ length: 100 }, (_, number) => letter(number)));
    read = [];
    await come(300, 'Ann');
    expect(read).to.deep.equal([]);
    expect(stats().outlinedStreams).to.be.within(10, 14);
    expect(stats().cachedBytes).to.be.at.most(64_000);
  });

  it('is forgotten with all states', async () => {
    const { come, pushOut, forget, stats } = start();
    await come(1, 'Ann');
    await pushOut();
    forget();
    expect(stats()).to.include({ outlinedStreams: 0, cachedBytes: 0 });
    expect(await come(1, 'Bob')).to.deep.equal([2]);
    expect(readOf(1)).to.equal(1);
  });

  it('is not kept of an ended stream', async () => {
    const { come, pushOut, stats } = start();
    await come(1, 'Ann', LAST);
    await pushOut();
    expect(await come(1, 'Bob')).to.deep.equal([3]);
    expect(readOf(1)).to.equal(1);
    expect(stats().outlineHits).to.equal(0);
  });

  it('has its state read and saved once 32 events are behind the last row', async () => {
    const { come, pushOut, settled } = start();
    const revisions = new Set<number>();
    for (let number = 0; number < 100; number++) {
      await come(1, letter(number));
      await pushOut();
      await settled();
      revisions.add(snapshots.kept.get(streamOf(1))?.revision ?? -1);
    }
    const between = [...revisions].slice(1).map((revision, index) => revision - ([...revisions][index] ?? 0));
    expect(between).to.have.length.within(2, 3);
    // Others may be read first.
    for (const events of between) expect(events).to.be.within(32, 40);
  });

  describe('whose state is being read, to be saved,', () => {
    let played: ReturnType<typeof start>;
    let held: PromiseWithResolvers<void>;
    beforeEach(async () => {
      held = Promise.withResolvers();
      let loads = 0;
      played = start({
        async load(places, restore) {
          loads += 1;
          // Those before are of streams that begin.
          if (loads > 3) await held.promise;
          return snapshots.load(places, restore);
        },
      });
      for (let number = 0; number < 32; number++) {
        await played.come(1, letter(number));
        await played.pushOut();
      }
      await eventually('it is read', () => loads === 4 || undefined);
    });

    it('is not saved if the stream ends meanwhile', async () => {
      expect(await played.come(1, LAST)).to.deep.equal([33]);
      held.resolve();
      await played.settled();
      expect(snapshots.kept.has(streamOf(1))).to.equal(false);
    });

    it('is left to itself when the process ends', async () => {
      const { promise: isAsked, resolve: ask } = Promise.withResolvers<void>();
      log.readTails = async () => {
        ask();
        throw new Error('The connection is closed.');
      };
      await played.saveStates(10_000);
      held.resolve();
      await isAsked;
      for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
      expect(played.stats().snapshotsWaiting).to.equal(0);
      expect(snapshots.kept.has(streamOf(1))).to.equal(false);
    });
  });

  it('is not saved before the process ends', async () => {
    const { come, pushOut, saveStates } = start();
    for (let number = 0; number < 20; number++) {
      await come(1, letter(number));
      await pushOut();
    }
    await come(1, letter(20));
    await saveStates(10_000);
    expect(snapshots.kept.has(streamOf(1))).to.equal(false);
  });

  it('cannot be asked for by a decider that has the whole state', async () => {
    const { executeAll } = start();
    const demanding: typeof guests = {
      ...guests,
      decide() {
        throw new WholeStateNeeded();
      },
    };
    const attempt = executeAll(demanding, streamOf(1), [{ name: 'Ann' }], context);
    expect(await attempt.catch((error: unknown) => error)).to.be.instanceOf(WholeStateNeeded);
  });
});

describe('outlines that are kept', () => {
  const outlinedOf = (number: number, bytes = 500): OutlinedState => ({
    stream: streamOf(number),
    type: anyTypeOf(guests),
    revision: number,
    lastEventId: undefined,
    bytes,
    record: { savedRevision: -1, passes: 0 },
    outline: { facts: `${number}`, marks: 'x'.repeat(500) },
  });

  it('take blocks of memory, and give them back in every way to leave', () => {
    const memory = createOutlineMemory();
    const taken = new Set<FirstBlock>();
    const outlines = createOutlines(() => 2_000, {
      ...memory,
      write(outline) {
        const first = memory.write(outline);
        taken.add(first);
        return first;
      },
      release(first) {
        memory.release(first);
        expect(taken.delete(first)).to.equal(true);
      },
      clear() {
        memory.clear();
        taken.clear();
      },
    });
    for (let number = 0; number < 9; number++) outlines.add(outlinedOf(number));
    expect([outlines.count, outlines.bytes, taken.size]).to.deep.equal([4, 2_000, 4]);
    outlines.add(outlinedOf(8));
    outlines.removeAny();
    outlines.remove(streamOf(8));
    const { count } = outlines;
    expect(count).to.be.within(2, 3);
    expect([outlines.bytes, taken.size]).to.deep.equal([500 * count, count]);
    outlines.clear();
    expect([outlines.count, outlines.bytes, taken.size]).to.deep.equal([0, 0, 0]);
  });

  it('are none that are larger than all the room', () => {
    const outlines = createOutlines(() => 2_000);
    expect(outlines.add(outlinedOf(1))).to.equal(true);
    expect(outlines.add(outlinedOf(2, 2_001))).to.equal(false);
    expect(outlines.count).to.equal(1);
  });
});
