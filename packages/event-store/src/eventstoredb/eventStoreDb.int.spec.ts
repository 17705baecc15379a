import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { eventStoreContract } from '../eventStore.contract.ts';
import { ourLogContract } from '../ourLog.contract.ts';
import type { EventStore, Position } from '../port.ts';
import { openWorld, type World } from '../testing/eventStoreDbWorld.ts';
import { allOf, newEvent, streamName } from '../testing/events.ts';
import { createEventStoreDbEventStore } from './eventStoreDbEventStore.ts';

/** A real EventStoreDB or KurrentDB: `esdb://…`. The specs write new streams into its log. */
const REAL_SERVER = process.env.EVENTSTORE_TEST_URL;

const traits = { refusesOtherJsonTexts: true, tellsSimultaneousRetriesApart: false } as const;

eventStoreContract('eventstoredb, over a log in memory', async () => {
  const world = await openWorld();
  const open = (options: { readonly maxQueuedAppends?: number } = {}) => world.open(options);
  return {
    ...traits,
    store: open(),
    another: open,
    positionBeyondEnd: '1000000/1000000' as Position,
    async rewindTo(length) {
      world.log.rewindTo(length);
    },
    close: world.close,
  };
});

ourLogContract('eventstoredb, over a log in memory', async () => {
  const world = await openWorld();
  return {
    store: world.open(),
    writeAsAnother: async (stream, event) =>
      void world.log.append({ stream, expectedRevision: 'any', events: [event] }),
    close: world.close,
  };
});

if (REAL_SERVER === undefined) {
  describe('eventstoredb, over a real server', () => {
    it('was not run: EVENTSTORE_TEST_URL is not set', () => {
      expect(REAL_SERVER).to.equal(undefined);
    });
  });
} else {
  eventStoreContract(
    'eventstoredb, over a real server',
    async () => {
      const stores: EventStore[] = [];
      const open = (options: { readonly maxQueuedAppends?: number } = {}) => {
        const store = createEventStoreDbEventStore({ connectionString: REAL_SERVER, ...options });
        stores.push(store);
        return store;
      };
      return {
        ...traits,
        store: open(),
        another: open,
        positionBeyondEnd: '4611686018427387904/4611686018427387904' as Position,
        rewindTo: () => expect.fail('The log of an existing server is not rewound.'),
        async close() {
          await Promise.all(stores.map((store) => store.close()));
        },
      };
    },
    { ownsItsLog: false },
  );
}

describe('the bytes that are hashed', () => {
  let world: World;
  before(async () => {
    world = await openWorld();
  });
  after(() => world.close());

  /** JSON.parse sorts keys that look like numbers to the front: no event has any. */
  const key = fc.string({ unit: 'binary' }).filter((text) => !/^(0|[1-9]\d*)$/.test(text));
  const value = fc.letrec((tie) => ({
    any: fc.oneof({ maxDepth: 3 }, fc.jsonValue({ maxDepth: 0 }), fc.array(tie('any')), tie('object')),
    object: fc.dictionary(key, tie('any')),
  })).object;

  it('survive the client, which parses every event and writes it again', async () => {
    const stream = streamName();
    const store = world.open();
    const written: { readonly data: string; readonly metadata: string }[] = [];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(value, value), { minLength: 1, maxLength: 20 }), async (pairs) => {
        const texts = pairs.map(([data, metadata]) => ({
          data: JSON.stringify(data),
          metadata: JSON.stringify(metadata),
        }));
        await store.append({
          stream,
          expectedRevision: written.length === 0 ? 'noStream' : written.length - 1,
          events: texts.map((text) => newEvent({ id: randomUUID(), ...text })),
        });
        written.push(...texts);
      }),
      { numRuns: 50 },
    );
    const read = await allOf(store.readStream(stream));
    expect(read.map(({ data, metadata }) => ({ data, metadata }))).to.deep.equal(written);
    const served = await allOf(world.served.readStream(stream));
    expect(served.map(({ data, metadata }) => ({ data, metadata }))).to.deep.equal(written);
  });
});
