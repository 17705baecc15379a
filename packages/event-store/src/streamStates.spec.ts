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
  const count = async (states: StreamStates, number: number, times = 1, closes = false) => {
    const before = await current(states, number);
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
  const countOf = async (states: StreamStates, number: number) => {
    const { state } = await current(states, number);
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

  it('are looked up together when many come back at once', async () => {
    const first = statesWith();
    for (let number = 0; number < 12; number++) await count(first, number, 20);
    await first.save(10_000);
    metFrom();
    const loads: number[] = [];
    const tails: number[] = [];
    const { readTails } = log;
    log.readTails = (asked, limit) => {
      tails.push(asked.length);
      return readTails(asked, limit);
    };
    const second = statesWith({
      load(places) {
        loads.push(places.length);
        return snapshots.load(places);
      },
    });
    const counts = await Promise.all(Array.from({ length: 12 }, (_, number) => countOf(second, number)));
    expect(counts).to.deep.equal(Array(12).fill(20));
    expect([loads, tails]).to.deep.equal([[12], [12]]);
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

  it('that stay in the cache are saved whenever their stream has grown by half', async () => {
    const states = statesWith();
    const revisions = new Set<number | undefined>();
    for (let round = 0; round < 100; round++) {
      await count(states, 1, 10);
      await settled(states);
      revisions.add(snapshots.kept.get(streamOf(1))?.revision);
    }
    expect([...revisions]).to.deep.equal([undefined, 129, 259, 389, 589, 889]);
  });

  it('are small ones rather than large ones when room is needed', async () => {
    const sized = { ...tally, sizeOf: ({ count: size }: Tally) => size * KIB };
    const states = statesWith({}, 100 * KIB);
    const keep = (number: number, kib: number) => {
      const record = { savedRevision: -1, passes: 0 };
      states.keep(
        stateOf({ ...of(number, sized), record }, { count: kib, isClosed: false }, 0, randomUUID()),
      );
    };
    keep(1, 2);
    keep(2, 40);
    keep(3, 40);
    keep(4, 40);
    expect([1, 2, 3, 4].map((number) => states.remembered(streamOf(number)) !== undefined)).to.deep.equal([
      true,
      false,
      true,
      true,
    ]);
  });
});
