/** States that leave the cache and come back: where they are found, what it costs, and what is written for it. */
import { randomUUID } from 'node:crypto';
import { encodeMetadata, eventCodec, type StreamType } from '@coffer/kernel';
import { eventually } from '@coffer/testing';
import { expect } from 'chai';
import { z } from 'zod';
import { createMemoryEventStore } from './memory/memoryEventStore.ts';
import { createMemorySnapshotStore } from './memory/memorySnapshotStore.ts';
import type { EventStore } from './port.ts';
import type { SnapshotStore } from './snapshots.ts';
import type { StreamReturn } from './stateStats.ts';
import { stateOf } from './streamState.ts';
import { createStreamStates, type StreamStates } from './streamStates.ts';
import type { AnyStreamType } from './works.ts';

// A tally: how often it was counted on, until it is closed.

const KIB = 1024;
/** So many events that a state that stays in the cache is saved. */
const OFTEN = 200;
const tallyEvents = eventCodec({ Counted: { data: z.object({ closes: z.boolean() }) } });
const counted = (closes: boolean) => ({ type: 'Counted' as const, data: { closes } });
const tally: StreamType<never, ReturnType<typeof counted>, Tally, never> = {
  category: 'tally',
  version: 1,
  codec: tallyEvents,
  initialState: { count: 0, isClosed: false },
  decide: () => expect.fail('Nothing is decided here.'),
  evolve: ({ count, isClosed }, { data }) => ({ count: count + 1, isClosed: isClosed || data.closes }),
  sizeOf: () => 20 * KIB,
  isEnded: ({ isClosed }) => isClosed,
  snapshot: {
    encode: (state) => ({ facts: state }),
    decode: ({ facts }) => z.object({ count: z.int(), isClosed: z.boolean() }).parse(facts),
  },
};
interface Tally {
  readonly count: number;
  readonly isClosed: boolean;
}

const streamOf = (number: number) => `tally-test.app_1.${number}`;
const of = (number: number, type = tally) => ({
  stream: streamOf(number),
  type: type as unknown as AnyStreamType,
});

describe('states of streams', () => {
  let log: EventStore;
  let snapshots: ReturnType<typeof createMemorySnapshotStore>;
  /** The streams of each batch. */
  let saves: (readonly string[])[];
  let returns: StreamReturn[];
  let errors: unknown[];
  beforeEach(() => {
    log = createMemoryEventStore();
    snapshots = createMemorySnapshotStore();
    [saves, returns, errors] = [[], [], []];
  });

  /** Room for two states, apart from those on their way to a snapshot. */
  const statesWith = (store: Partial<SnapshotStore> = {}, cacheBytes = 48 * KIB) =>
    createStreamStates({
      store: log,
      cacheBytes,
      snapshots: {
        ...snapshots,
        save(batch) {
          saves.push(batch.map(({ stream }) => stream));
          return snapshots.save(batch);
        },
        ...store,
      },
      onSnapshotError: (error) => errors.push(error),
      onReturn: (met) => returns.push(met),
    });
  const metFrom = () => returns.splice(0).map(({ source, foldedEvents }) => `${source} ${foldedEvents}`);
  const settled = (states: StreamStates) =>
    eventually('nothing waits for its snapshot', () => states.stats().snapshotsWaiting === 0 || undefined);
  const savesOf = (number: number) => saves.flat().filter((stream) => stream === streamOf(number)).length;

  const current = async (states: StreamStates, number: number, type = tally) =>
    states.remembered(streamOf(number)) ?? (await states.read(of(number, type)));
  /** As the command handler does: decides, appends, keeps. */
  const count = async (states: StreamStates, number: number, times = 1, closes = false, type = tally) => {
    const before = await current(states, number, type);
    const events = Array.from({ length: times }, () => {
      const { schemaVersion, ...encoded } = tally.codec.encode(counted(closes));
      const metadata = { correlationId: 'c', actor: 'spec', occurredAt: '2026-01-01T00:00:00.000Z' };
      return { ...encoded, id: randomUUID(), metadata: encodeMetadata(metadata, schemaVersion) };
    });
    const { revision, state } = before;
    await log.append({
      stream: streamOf(number),
      expectedRevision: revision < 0 ? 'noStream' : revision,
      events,
    });
    const next = events.reduce((folded) => tally.evolve(folded, counted(closes)), state as Tally);
    states.keep(stateOf(before, next, revision + times, events.at(-1)?.id));
  };
  const countOf = async (states: StreamStates, number: number, type = tally) => {
    const { state } = await current(states, number, type);
    return (state as Tally).count;
  };
  /** Two other streams take the room. */
  const pushOut = async (states: StreamStates) => {
    for (const other of [101, 102]) await count(states, other);
    metFrom();
  };

  it('that left the cache changed come back from a snapshot and the tail behind it', async () => {
    const states = statesWith();
    await count(states, 1, 90);
    await pushOut(states);
    await settled(states);
    expect(snapshots.kept.get(streamOf(1))).to.include({ revision: 89 });
    expect(await countOf(states, 1)).to.equal(90);
    expect(metFrom()).to.deep.equal(['snapshot 0']);
  });

  it('come back from the queue while their snapshot is being written', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const states = statesWith({ save: (batch) => held.then(() => snapshots.save(batch)) });
    await count(states, 1, 90);
    await pushOut(states);
    await new Promise(setImmediate);
    expect(await countOf(states, 1)).to.equal(90);
    expect(metFrom()).to.deep.equal(['queue 0']);
    release();
    await settled(states);
  });

  it('are not written again for each event, but once their tail costs more than the row', async () => {
    const states = statesWith();
    await count(states, 1, 90);
    for (let round = 0; round < 24; round++) {
      await pushOut(states);
      await settled(states);
      await count(states, 1);
    }
    // 20 KiB are worth six events.
    expect(savesOf(1)).to.equal(1 + Math.floor(23 / 6));
    expect(metFrom()).to.deep.equal(['snapshot 5']);
  });

  it('of a few events are not worth a row', async () => {
    const states = statesWith();
    await count(states, 1, 10);
    await pushOut(states);
    await settled(states);
    expect(await countOf(states, 1)).to.equal(10);
    expect(metFrom()).to.deep.equal(['fold 10']);
    expect(snapshots.kept.size).to.equal(0);
  });

  describe('that come back at once', () => {
    const STREAMS = 12;
    let loads: number[];
    let tails: number[];
    const save = async (type = tally) => {
      const first = statesWith({}, 1_000_000 * KIB);
      for (let number = 0; number < STREAMS; number++) await count(first, number, 40, false, type);
      await first.save(10_000);
      metFrom();
    };
    const meetAgain = async (type = tally) => {
      [loads, tails] = [[], []];
      const { readTails } = log;
      log.readTails = (asked, limit) => {
        tails.push(asked.length);
        return readTails(asked, limit);
      };
      const second = statesWith({
        load(places, restore) {
          loads.push(places.length);
          return snapshots.load(places, restore);
        },
      });
      const numbers = Array.from({ length: STREAMS }, (_, number) => number);
      const meetAll = () => Promise.all(numbers.map((number) => countOf(second, number, type)));
      expect(await meetAll()).to.deep.equal(Array(STREAMS).fill(40));
      return { meetAll };
    };

    it('are looked up together', async () => {
      await save();
      await meetAgain();
      expect([loads, tails]).to.deep.equal([[12], [12]]);
    });

    it('are looked up few at a time once they turn out to be large, and all that wait are found', async () => {
      const large = { ...tally, sizeOf: () => 1_300 * KIB };
      await save(large);
      const { meetAll } = await meetAgain(large);
      [loads, tails] = [[], []];
      // None of them has room in the cache.
      expect(await meetAll()).to.deep.equal(Array(STREAMS).fill(40));
      expect(loads).to.deep.equal([3, 3, 3, 3]);
    });
  });

  it('are saved together before the process ends', async () => {
    const states = statesWith({}, 1_000 * KIB);
    for (let number = 0; number < 10; number++) await count(states, number, 20);
    await states.save(10_000);
    expect(saves.map((batch) => batch.length)).to.deep.equal([10]);
  });

  it('are not kept where the queue is full, and fold to the same', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const states = statesWith({ save: (batch) => held.then(() => snapshots.save(batch)) });
    for (const number of [1, 2, 3, 4, 5]) await count(states, number, 20);
    expect(states.stats()).to.include({ evictions: 3, snapshotsDropped: 2 });
    expect(states.stats().cachedBytes).to.be.at.most(80 * KIB);
    metFrom();
    expect(await countOf(states, 2)).to.equal(20);
    expect(metFrom()).to.deep.equal(['fold 20']);
    release();
    await settled(states);
  });

  it('fold to the same when their snapshot could not be written', async () => {
    const states = statesWith({ save: () => Promise.reject(new Error('the disk is full')) });
    await count(states, 1, 90);
    await pushOut(states);
    await settled(states);
    expect(errors).to.have.length(1);
    expect(states.stats()).to.include({ snapshotsWritten: 0, snapshotsDropped: 1 });
    expect(await countOf(states, 1)).to.equal(90);
    expect(metFrom()).to.deep.equal(['fold 90']);
  });

  it('fold to the same when their snapshot cannot be decoded', async () => {
    const states = statesWith();
    await count(states, 1, 90);
    await pushOut(states);
    await settled(states);
    const kept = snapshots.kept.get(streamOf(1)) ?? expect.fail('there is one');
    snapshots.kept.set(streamOf(1), { ...kept, state: { facts: 'of another shape' } });
    expect(await countOf(states, 1)).to.equal(90);
    expect(metFrom()).to.deep.equal(['fold 90']);
    expect(errors).to.have.length(1);
  });

  it('fold to the same when their snapshots cannot be loaded, which is told once for all that asked together', async () => {
    const first = statesWith();
    for (const number of [1, 2]) await count(first, number, 90);
    await first.save(10_000);
    metFrom();
    const second = statesWith({ load: () => Promise.reject(new Error('nobody answers')) });
    expect(await Promise.all([1, 2].map((number) => countOf(second, number)))).to.deep.equal([90, 90]);
    expect(metFrom()).to.deep.equal(['fold 90', 'fold 90']);
    expect(errors).to.have.length(1);
  });

  it('of ended streams leave first, without a row, and an earlier row goes', async () => {
    const states = statesWith();
    await count(states, 1, 20);
    await pushOut(states);
    await settled(states);
    expect([...snapshots.kept.keys()]).to.deep.equal([streamOf(1)]);
    await count(states, 2);
    await count(states, 1, 1, true);
    await count(states, 3);
    await settled(states);
    expect(snapshots.kept.size).to.equal(0);
    metFrom();
    // The ended one was used later than the second, and has left before it.
    for (const number of [2, 3]) await countOf(states, number);
    expect(metFrom()).to.deep.equal([]);
    expect(await countOf(states, 1)).to.equal(21);
    expect(metFrom()).to.deep.equal(['fold 21']);
  });

  it('that stay in the cache are saved when their stream has grown', async () => {
    const states = statesWith();
    await count(states, 1, OFTEN - 1);
    await count(states, 1);
    await settled(states);
    expect(snapshots.kept.get(streamOf(1))).to.include({ revision: OFTEN - 2 });
  });

  describe('that return while their snapshot waits behind another one', () => {
    let states: StreamStates;
    let release: () => void;
    beforeEach(async () => {
      const held = Promise.withResolvers<void>();
      release = held.resolve;
      states = statesWith(
        {
          save(batch) {
            saves.push(batch.map(({ stream }) => stream));
            return held.promise.then(() => snapshots.save(batch));
          },
        },
        496 * KIB,
      );
      // There is room for 21 of them in the cache, and for three in the queue.
      await count(states, 1, OFTEN);
      await new Promise(setImmediate);
      for (let number = 2; number <= 23; number++) await count(states, number, 20);
      metFrom();
    });
    afterEach(async () => {
      release();
      await settled(states);
    });

    it('are in the cache again, and are not written', async () => {
      expect(saves).to.deep.equal([[streamOf(1)]]);
      expect(await countOf(states, 2)).to.equal(20);
      expect(metFrom()).to.deep.equal(['queue 0']);
      expect(await countOf(states, 2)).to.equal(20);
      release();
      await settled(states);
      expect(await countOf(states, 2)).to.equal(20);
      expect(metFrom()).to.deep.equal([]);
      expect(savesOf(2)).to.equal(0);
    });

    it('are not found any more once they are dropped, or all are forgotten', () => {
      states.drop(streamOf(2));
      expect(states.remembered(streamOf(2))).to.equal(undefined);
      expect(states.remembered(streamOf(1))).not.to.equal(undefined);
      states.forget();
      expect([1, 3].map((number) => states.remembered(streamOf(number)))).to.deep.equal([
        undefined,
        undefined,
      ]);
      expect(states.stats()).to.include({ cachedStreams: 0 });
    });
  });

  it('are offered once while their snapshot is being written', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const states = statesWith(
      {
        save(batch) {
          saves.push(batch.map(({ stream }) => stream));
          return held.then(() => snapshots.save(batch));
        },
      },
      400 * KIB,
    );
    await count(states, 1, OFTEN);
    await new Promise(setImmediate);
    for (let round = 0; round < 3; round++) await count(states, 1);
    release();
    await settled(states);
    expect(savesOf(1)).to.equal(1);
  });

  it('are all forgotten when one of them is not in the log any more', async () => {
    const states = statesWith();
    for (const number of [1, 2]) await count(states, number, 20);
    const known = states.remembered(streamOf(1)) ?? expect.fail('it is cached');
    expect(await states.isCurrent(known)).to.equal(true);
    const rewritten = { ...known, lastEventId: randomUUID() };
    expect(await states.isCurrent(rewritten)).to.equal(false);
    expect(await states.read(of(1), rewritten)).to.deep.include({
      revision: 19,
      lastEventId: known.lastEventId,
    });
    expect(states.remembered(streamOf(2))).to.equal(undefined);
  });

  it('of a stream that ended while its snapshot waited get no row', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const states = statesWith({ save: (batch) => held.then(() => snapshots.save(batch)) }, 496 * KIB);
    await count(states, 1, OFTEN);
    await new Promise(setImmediate);
    await count(states, 2, OFTEN);
    await count(states, 2, 1, true);
    release();
    await settled(states);
    expect([...snapshots.kept.keys()]).to.deep.equal([streamOf(1)]);
  });

  it('of streams that do not exist are not cached', async () => {
    const states = statesWith();
    expect((await states.read(of(1))).revision).to.equal(-1);
    expect(states.stats()).to.include({ cachedBytes: 0, cachedStreams: 0 });
  });

  it('are saved before the process ends with the longest tail first', async () => {
    const states = statesWith({}, 1_000 * KIB);
    for (const [number, times] of [20, 60, 40].entries()) await count(states, number, times);
    await states.save(10_000);
    expect(saves.flat()).to.deep.equal([1, 2, 0].map(streamOf));
  });

  it('are saved before the process ends only as far as time allows', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const states = statesWith({ save: () => held }, 1_000 * KIB);
    await count(states, 1, 20);
    await states.save(1);
    release();
    await settled(states);
  });

  it('are saved before the process ends without the pause that a failure makes', async () => {
    let fails = true;
    const states = statesWith(
      {
        async save(batch) {
          if (fails) throw new Error('the disk is full');
          await snapshots.save(batch);
        },
      },
      496 * KIB,
    );
    await count(states, 1, OFTEN);
    await eventually('the first save has failed', () => errors.length > 0 || undefined);
    fails = false;
    // The pause takes a second.
    await states.save(500);
    expect(snapshots.kept.get(streamOf(1))).to.include({ revision: OFTEN - 1 });
  });

  it('of an ended stream have their row removed once', async () => {
    const removed: (readonly string[])[] = [];
    const states = statesWith({
      remove(streams) {
        removed.push(streams);
        return snapshots.remove(streams);
      },
    });
    await count(states, 1, OFTEN);
    await settled(states);
    await count(states, 1, 1, true);
    await settled(states);
    await count(states, 1);
    await settled(states);
    expect(removed).to.deep.equal([[streamOf(1)]]);
    expect(snapshots.kept.size).to.equal(0);
  });

  it('that cannot be encoded are tried again only when their stream has grown', async () => {
    const states = statesWith();
    const unencodable = { ...tally, snapshot: { ...tally.snapshot, encode: () => expect.fail('too odd') } };
    const record = { savedRevision: -1, passes: 0 };
    for (const revision of [OFTEN, OFTEN + 1, OFTEN + 2]) {
      const place = { ...of(1, unencodable as typeof tally), record };
      states.keep(stateOf(place, { count: revision, isClosed: false }, revision, randomUUID()));
      await settled(states);
    }
    expect(errors).to.have.length(1);
    expect(states.stats()).to.include({ snapshotsWritten: 0, snapshotsDropped: 1 });
  });

  it('of long streams are folded to their end, whatever a page holds', async () => {
    for (const length of [62, 63, 64, 65, 130, 400]) {
      const states = statesWith({ save: () => Promise.resolve() });
      await count(states, length, length);
      const from = states.remembered(streamOf(length)) ?? expect.fail('it is cached');
      expect(await countOf(statesWith(), length)).to.equal(length);
      const begun = { ...from, state: { count: 1, isClosed: false }, revision: 0 };
      for await (const [first] of log.readStream(streamOf(length), { fromRevision: 0 })) {
        const known = { ...begun, lastEventId: first?.id };
        expect((await states.read(of(length), known)).state, `${length}`).to.include({ count: length });
        break;
      }
    }
  });

  it('are written in batches of 512 KiB and of 128 states', async () => {
    const sized = (kib: number) => ({ ...tally, sizeOf: () => kib * KIB });
    for (const [kib, states, batches] of [
      [200, 5, [2, 2, 1]],
      [1, 300, [128, 128, 44]],
      [600, 2, [1, 1]],
    ] as const) {
      saves = [];
      const own = statesWith({}, 4_000 * KIB);
      for (let number = 0; number < states; number++) {
        const record = { savedRevision: -1, passes: 0 };
        own.keep(
          stateOf({ ...of(number, sized(kib)), record }, { count: 41, isClosed: false }, 40, randomUUID()),
        );
      }
      await own.save(10_000);
      expect(
        saves.map((batch) => batch.length),
        `${kib} KiB`,
      ).to.deep.equal(batches);
    }
  });
});
