import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { KeptSnapshots, RecordedEvent } from '@coffer/event-store';
import { expect } from 'chai';
import fc from 'fast-check';
import { streamRules } from './streamRules.ts';
import {
  chained,
  chainOf,
  changed,
  jar,
  logOf,
  nameOf,
  reportOf,
  storeOf,
  swapped,
  withForgery,
  without,
} from './testing/tamperedLog.ts';
import { verifyLog, verifyStretch } from './verifyLog.ts';

const { signal } = new AbortController();

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** A page of a few events, so that streams are given up while they are folded. */
const PAGE = 3;

function pagedStoreOf(events: readonly RecordedEvent[]) {
  const whole = storeOf(events);
  let read = 0;
  return {
    ...whole,
    async *readAll(options?: Parameters<typeof whole.readAll>[0]) {
      for await (const page of whole.readAll(options)) {
        for (let start = 0; start < page.length; start += PAGE) yield page.slice(start, start + PAGE);
      }
    },
    async *readStream(...of: Parameters<typeof whole.readStream>) {
      for await (const page of whole.readStream(...of)) {
        read += page.length;
        yield page;
      }
    },
    /** Events read in the order of their streams. */
    readInStreams: () => read,
  };
}

const rules = [
  streamRules({
    ...jar,
    version: 2,
    snapshot: {
      encode: (balance) => ({ facts: `${balance}` }),
      decode: () => expect.fail('A verification decodes none.'),
    },
  }),
];

describe('the fold of the streams, as the log is read', () => {
  const tamperings: Readonly<
    Record<
      string,
      (log: readonly RecordedEvent[], ordinal: number, other: number) => readonly RecordedEvent[]
    >
  > = {
    nothing: (log) => log,
    'unreadable data': (log, ordinal) => changed(log, ordinal, (event) => ({ ...event, data: '{}' })),
    'unreadable metadata': (log, ordinal) =>
      changed(log, ordinal, (event) => ({ ...event, metadata: '{"v":1}' })),
    'data that do not follow': (log, ordinal) =>
      changed(log, ordinal, (event) => ({ ...event, data: '{"amount":"1","balance":"99"}' })),
    neither: (log, ordinal) =>
      changed(log, ordinal, (event) => ({
        ...event,
        data: '{"amount":"1","balance":"99"}',
        metadata: '{"v":1}',
      })),
    'another revision': (log, ordinal, other) =>
      changed(log, ordinal, (event) => ({ ...event, revision: event.revision + other })),
    'a removed event': without,
    'a forged event': withForgery,
    'swapped events': swapped,
  };

  /** Whose snapshot is right at its first event, and wrong after that. */
  const snapshotsOf = (log: readonly RecordedEvent[], revision: number): KeptSnapshots => ({
    placesAmong: async (streams) => streams.map((stream) => ({ stream, deciderVersion: 2 })),
    read: async (places) =>
      places.map(({ stream }) => ({
        revision,
        eventId: log.find((event) => event.stream === stream && event.revision === revision)?.id ?? '',
        state: { facts: '"1"', bytes: new Uint8Array() },
        isAuthentic: true,
      })),
  });

  for (const [what, tamper] of Object.entries(tamperings)) {
    it(`finds the same, wherever streams are given up, with ${what}`, () =>
      fc.assert(
        fc.asyncProperty(
          fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 2, maxLength: 30 }),
          fc.nat(),
          fc.nat(),
          fc.integer({ min: 0, max: 3 }),
          fc.integer({ min: 0, max: 3_000 }),
          async (jars, one, other, snapshotAt, statesBytes) => {
            const written = logOf(jars);
            const log = tamper(written, (one % jars.length) + 1, (other % jars.length) + 1);
            const verified = (budget: number) =>
              reportOf(
                verifyLog({
                  store: pagedStoreOf(log),
                  chain: chainOf(chained(written)),
                  rules,
                  snapshots: snapshotsOf(written, snapshotAt),
                  statesBytes: budget,
                  signal,
                }),
              );
            const expected = await verified(Infinity);
            expect(await verified(statesBytes)).to.deep.equal(expected);
            // Each stream is given up after the page that it begins in.
            expect(await verified(0)).to.deep.equal(expected);
          },
        ),
        { numRuns: 40 },
      ));
  }

  it('reports every log that is not as it was written', () => {
    const { nothing: _, ...changes } = tamperings;
    const tampers: readonly (typeof tamperings)[string][] = [
      ...Object.values(changes),
      // To another stream.
      (log, ordinal, other) => changed(log, ordinal, (event) => ({ ...event, stream: nameOf(other) })),
      // With the revision that another event of the stream has.
      (log, ordinal) =>
        changed(log, ordinal, (event) => ({ ...event, revision: Math.abs(event.revision - 1) })),
    ];
    return fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 2, maxLength: 30 }),
        fc.constantFrom(...tampers),
        fc.nat(),
        fc.nat(),
        fc.integer({ min: 0, max: 3_000 }),
        async (jars, tamper, one, other, statesBytes) => {
          const written = logOf(jars);
          const log = tamper(written, (one % jars.length) + 1, (other % jars.length) + 1);
          fc.pre(!isDeepStrictEqual(log, written));
          const chain = chainOf(chained(written));
          const report = await reportOf(
            verifyLog({ store: pagedStoreOf(log), chain, rules, statesBytes, signal }),
          );
          expect(report.faultCount).to.be.above(0);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('reads a stream by itself only if it is given up, or continues after the stretch', async () => {
    const log = logOf([1, 2, 1, 2, 1, 2, 1, 1]);
    const [store, givingUp] = [pagedStoreOf(log), pagedStoreOf(log)];
    const chain = chainOf(chained(log));
    expect((await reportOf(verifyLog({ store, chain, rules, signal }))).faults).to.deep.equal([]);
    expect(store.readInStreams()).to.equal(0);

    const report = await reportOf(verifyLog({ store: givingUp, chain, rules, statesBytes: 0, signal }));
    expect(report.faults).to.deep.equal([]);
    // In the first page, both begin, and three events are folded.
    expect(givingUp.readInStreams()).to.equal(log.length - PAGE);

    const [first] = chained(log, PAGE);
    const upTo = first && (await chainOf([first]).head());
    const last = log.at(-1);
    if (!upTo || !last) return expect.fail('There are three blocks.');
    const stretched = pagedStoreOf(log);
    const stretch = { after: undefined, upTo, foldedUpTo: last.position };
    await reportOf(verifyStretch({ store: stretched, chain, rules, signal }, stretch));
    expect(stretched.readInStreams()).to.equal(log.length - PAGE);

    // Also where all that is left of a stream came after the end: somebody plays on.
    for (const foldedUpTo of [last.position, upTo.place.position]) {
      const resting = pagedStoreOf(log);
      const rests: number[] = [];
      const rest = async () => void rests.push(resting.readInStreams());
      await reportOf(
        verifyStretch({ store: resting, chain, rules, signal }, { ...stretch, foldedUpTo, rest }),
      );
      expect(rests).to.have.length(2);
      expect(rests[0], 'read before the first rest').to.be.lessThan(log.length - PAGE);
    }
  });

  it('holds no more states than it may', async () => {
    let [held, most] = [0, 0];
    const counting = rules.map((one) => ({
      ...one,
      startFolding() {
        held += 1;
        most = Math.max(most, held);
        return one.startFolding();
      },
    }));
    const log = logOf(Array.from({ length: 300 }, (_, index) => index));
    const store = pagedStoreOf(log);
    const heads: typeof store.heads = async (streams) => {
      held -= streams.length;
      return store.heads(streams);
    };
    await reportOf(
      verifyLog({
        store: { ...store, heads },
        chain: chainOf(chained(log)),
        rules: counting,
        statesBytes: 6_000,
        signal,
      }),
    );
    // Each is counted with 600 bytes.
    expect(most).to.be.within(10, 10 + 2 * PAGE);
    expect(nameOf(1)).to.equal(log[1]?.stream);
  });

  it('lets go of each stream that goes on behind its stretch once it is folded', async () => {
    const states: WeakRef<object>[] = [];
    const counting = rules.map((one) => ({
      ...one,
      startFolding() {
        const folding = one.startFolding();
        states.push(new WeakRef(folding));
        return folding;
      },
    }));
    const streams = Array.from({ length: 2 * PAGE }, (_, index) => index);
    const log = logOf([...streams, ...streams]);
    const [first] = chained(log, streams.length);
    const upTo = first && (await chainOf([first]).head());
    const last = log.at(-1);
    if (!upTo || !last) return expect.fail('There are two blocks.');
    const held: number[] = [];
    const rest = async () => {
      // A busy machine may still hold in one turn of the event loop what it lets go in the next.
      for (let turn = 0; turn < 3; turn++) {
        await setImmediate();
        collectGarbage();
      }
      held.push(states.filter((state) => state.deref()).length);
    };
    await reportOf(
      verifyStretch(
        { store: pagedStoreOf(log), chain: chainOf(chained(log)), rules: counting, signal },
        { after: undefined, upTo, foldedUpTo: last.position, rest },
      ),
    );
    // Each rests at its only page.
    expect(held).to.deep.equal(streams.map((done) => streams.length - done));
  });
});
