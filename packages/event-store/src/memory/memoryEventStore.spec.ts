import { failureOf } from '@coffer/testing';
import { expect } from 'chai';
import { OutcomeUnknownError, StoreUnreachableError } from '../errors.ts';
import { eventStoreContract } from '../eventStore.contract.ts';
import { ourLogContract } from '../ourLog.contract.ts';
import { ourLog } from '../ourLog.ts';
import type { AppendRequest, EventStore, Position } from '../port.ts';
import { readingContract, wholeLogContract } from '../reading.contract.ts';
import { rewindingContract, subscriptionContract } from '../subscription.contract.ts';
import type { EventStoreHarness } from '../testing/eventStoreHarness.ts';
import { allOf, newEvents, streamName } from '../testing/events.ts';
import { type AppendFault, createMemoryEventStore } from './memoryEventStore.ts';
import { createMemoryLog } from './memoryLog.ts';

const memoryHarness = (wrap: (store: EventStore) => EventStore) => async (): Promise<EventStoreHarness> => {
  const log = createMemoryLog();
  const stores = [wrap(createMemoryEventStore({ log }))] as const;
  const others: { close(): Promise<void> }[] = [];
  return {
    store: stores[0],
    another(options = {}) {
      const other = wrap(createMemoryEventStore({ log, ...options }));
      others.push(other);
      return other;
    },
    positionBeyondEnd: '1000000' as Position,
    async rewindTo(length) {
      log.rewindTo(length);
    },
    async close() {
      await Promise.all([...stores, ...others].map((store) => store.close()));
    },
  };
};

eventStoreContract(
  'memory',
  memoryHarness((store) => store),
);
describe('our part of a log in memory, where nobody else writes', () => {
  const makeHarness = memoryHarness(ourLog);
  let harness: EventStoreHarness;
  before(async () => {
    harness = await makeHarness();
  });
  after(() => harness.close());
  readingContract(() => harness.store);
  subscriptionContract(() => harness);
  wholeLogContract(makeHarness);
  rewindingContract(makeHarness);
});
ourLogContract('memory', async () => {
  const log = createMemoryLog();
  const store = createMemoryEventStore({ log });
  return {
    store,
    writeAsAnother: async (stream, event) =>
      void log.append({ stream, expectedRevision: 'any', events: [event] }),
    close: store.close,
  };
});

describe('the faults of the memory store', () => {
  const faulty = (...faults: (AppendFault | Promise<AppendFault>)[]) =>
    createMemoryEventStore({ faults: () => faults.shift() });
  const request = (): AppendRequest => ({
    stream: streamName(),
    expectedRevision: 'noStream',
    events: newEvents(2),
  });

  it('"fail" writes nothing', async () => {
    const store = faulty('fail');
    const append = request();
    expect(await failureOf(store.append(append))).to.be.instanceOf(StoreUnreachableError);
    expect((await store.append(append)).alreadyAppended).to.equal(false);
  });

  it('"loseReply" writes everything, and the retry finds it', async () => {
    const store = faulty('loseReply');
    const append = request();
    expect(await failureOf(store.append(append))).to.be.instanceOf(OutcomeUnknownError);
    expect((await store.append(append)).alreadyAppended).to.equal(true);
    expect(await allOf(store.readAll())).to.have.length(2);
  });

  it('"loseReply" hides a refusal as well', async () => {
    const store = faulty('loseReply');
    const append = store.append({ ...request(), expectedRevision: 7 });
    expect(await failureOf(append)).to.be.instanceOf(OutcomeUnknownError);
  });

  it('a promise delays its append and later ones to the stream, but no others', async () => {
    const gate = Promise.withResolvers<AppendFault>();
    const store = faulty(gate.promise);
    const first = request();
    const order: string[] = [];
    const held = store.append(first).then(() => order.push('held'));
    const behind = store
      .append({ stream: first.stream, expectedRevision: 1, events: newEvents(1) })
      .then(() => order.push('behind'));
    await store.append(request());
    order.push('other');
    gate.resolve(undefined);
    await Promise.all([held, behind]);
    expect(order).to.deep.equal(['other', 'held', 'behind']);
  });
});

describe('a memory log that is rewound', () => {
  it('holds its first events only', async () => {
    const log = createMemoryLog();
    const store = createMemoryEventStore({ log });
    const stream = streamName();
    const events = newEvents(3);
    await store.append({ stream, expectedRevision: 'noStream', events });
    log.rewindTo(1);
    expect(await store.heads([stream])).to.deep.equal([{ revision: 0, eventId: events[0]?.id }]);
    expect(await allOf(store.readAll())).to.have.length(1);
  });
});
