import type { EventPages, EventStore, RecordedEvent } from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { newEvents, streamName } from '@coffer/event-store/testing';
import { expect } from 'chai';
import { createTurns, inTurns, PAGE_BYTES, PAGE_SIZE } from './readTurns.ts';

const going = new AbortController().signal;
async function* mapped<Item>(source: AsyncIterable<Item>, map: (item: Item) => Item) {
  for await (const item of source) yield map(item);
}

const turn = () => new Promise(setImmediate);

async function idsOf(pages: EventPages, onPage: (page: readonly RecordedEvent[]) => void = () => undefined) {
  const ids: string[] = [];
  for await (const page of pages) {
    onPage(page);
    ids.push(...page.map(({ id }) => id));
  }
  return ids;
}

describe('reads that take turns', () => {
  const store = createMemoryEventStore();
  const STREAM = streamName();
  const COUNT = 3 * PAGE_SIZE;
  before(async () => {
    await store.append({ stream: STREAM, expectedRevision: 'noStream', events: newEvents(COUNT) });
    await store.append({ stream: streamName(), expectedRevision: 'noStream', events: newEvents(5) });
  });
  after(() => store.close());

  it('find what the store has, in small pages, in either direction and of any length', async () => {
    const turns = inTurns(store, createTurns({ isBusy: () => false }), going);
    const place = (await store.placeAt(store.parsePosition('100') ?? expect.fail()))?.position;
    for (const direction of ['forwards', 'backwards'] as const) {
      for (const limit of [0, 1, PAGE_SIZE, PAGE_SIZE + 1, COUNT, COUNT + 100, Infinity]) {
        for (const fromRevision of [undefined, 0, 70, COUNT]) {
          const options = { direction, limit, ...(fromRevision !== undefined && { fromRevision }) };
          const isSmall = (page: readonly unknown[]) => expect(page).to.have.lengthOf.within(1, PAGE_SIZE);
          expect(
            await idsOf(turns.readStream(STREAM, options), isSmall),
            JSON.stringify(options),
          ).to.deep.equal(await idsOf(store.readStream(STREAM, options)));
        }
        for (const options of [
          { direction, limit },
          { direction, limit, ...(place && { from: place }) },
        ]) {
          expect(await idsOf(turns.readAll(options)), JSON.stringify(options)).to.deep.equal(
            await idsOf(store.readAll(options)),
          );
        }
      }
    }
  });

  for (const what of ['a stream', 'all', 'all backwards', 'a subscription'] as const) {
    it(`hold no more than the limit of bytes, or one event, and fetch little in vain: ${what}`, async () => {
      const log = createMemoryEventStore();
      const stream = streamName();
      const sizes = [...Array(100).fill(10), ...Array(100).fill(PAGE_BYTES / 4), 10, 3 * PAGE_BYTES, 10];
      const data = sizes.map((size) => JSON.stringify({ text: 'x'.repeat(size) }));
      const events = newEvents(sizes.length).map((event, index) => ({ ...event, data: data[index] ?? '' }));
      for (const [index, event] of events.entries()) {
        const expectedRevision = index === 0 ? 'noStream' : index - 1;
        await log.append({ stream, expectedRevision, events: [event] });
      }
      let fetched = 0;
      const count = (page: readonly RecordedEvent[]) => {
        fetched += page.length;
        return page;
      };
      const counting: EventStore = {
        ...log,
        readStream: (...asked) => mapped(log.readStream(...asked), count),
        readAll: (...asked) => mapped(log.readAll(...asked), count),
        subscribeToAll: (asked) =>
          mapped(log.subscribeToAll(asked), (message) => {
            if (message.kind === 'events') count(message.events);
            return message;
          }),
      };
      const ended = new AbortController();
      const turns = inTurns(counting, createTurns({ isBusy: () => false }), ended.signal);
      async function* subscribed(): EventPages {
        for await (const message of turns.subscribeToAll({ after: undefined, signal: ended.signal })) {
          if (message.kind === 'caughtUp') return;
          if (message.kind === 'events') yield message.events;
        }
      }
      const pages = {
        'a stream': () => turns.readStream(stream),
        all: () => turns.readAll(),
        'all backwards': () => turns.readAll({ direction: 'backwards' }),
        'a subscription': subscribed,
      }[what]();
      const ids = await idsOf(pages, (page) => {
        const bytes = page.reduce((sum, event) => sum + event.data.length + event.metadata.length, 0);
        if (page.length > 1) expect(bytes).to.be.at.most(PAGE_BYTES);
      });
      const expected = events.map(({ id }) => id);
      expect(ids).to.deep.equal(what === 'all backwards' ? expected.toReversed() : expected);
      expect(fetched).to.be.at.most(3 * sizes.length);
      ended.abort();
      await log.close();
    });
  }

  it('go on behind a page that the store has cut off for its size', async () => {
    const log = createMemoryEventStore();
    const stream = streamName();
    const data = JSON.stringify({ text: 'x'.repeat(PAGE_BYTES) });
    const events = newEvents(3).map((event) => ({ ...event, data }));
    await log.append({ stream, expectedRevision: 'noStream', events });
    const cutting: EventStore = {
      ...log,
      async *readAll(options) {
        for await (const page of log.readAll(options)) for (const event of page) yield [event];
      },
    };
    const turns = inTurns(cutting, createTurns({ isBusy: () => false }), going);
    expect(await idsOf(turns.readAll())).to.deep.equal(events.map(({ id }) => id));
    await log.close();
  });

  it('run two at a time, in order of arrival, however many there are', async () => {
    const inTurn = createTurns({ isBusy: () => false });
    const begun: number[] = [];
    const ends: (() => void)[] = [];
    const all = Array.from({ length: 10 }, (_, number) =>
      inTurn(() => {
        begun.push(number);
        return new Promise<void>((resolve) => ends.push(resolve));
      }, going),
    );
    for (let ended = 0; ended < 10; ended++) {
      while (begun.length < Math.min(ended + 2, 10)) await turn();
      expect(begun).to.have.length(Math.min(ended + 2, 10));
      ends[ended]?.();
    }
    await Promise.all(all);
    expect(begun).to.deep.equal(Array.from({ length: 10 }, (_, number) => number));
  });

  it('pause before each page while the service is working for others, and only then', async () => {
    let isBusy = true;
    let pauses = 0;
    const inTurn = createTurns({
      isBusy: () => isBusy,
      pause: async () => {
        pauses += 1;
      },
    });
    await idsOf(inTurns(store, inTurn, going).readStream(STREAM, { limit: 2 * PAGE_SIZE }));
    expect(pauses).to.equal(2);
    isBusy = false;
    await idsOf(inTurns(store, inTurn, going).readStream(STREAM));
    expect(pauses).to.equal(2);
  });

  it('are skipped for a client that has left meanwhile, and give their turn to the next', async () => {
    const inTurn = createTurns({ isBusy: () => false });
    const leaving = new AbortController();
    const ends: (() => void)[] = [];
    const held = [1, 2].map(() => inTurn(() => new Promise<void>((resolve) => ends.push(resolve)), going));
    const left = inTurn(() => expect.fail('It was carried out.'), leaving.signal);
    const next = inTurn(async () => 'next', going);
    leaving.abort();
    for (const end of ends) end();
    await Promise.all(held);
    expect(await Promise.all([left, next])).to.deep.equal([undefined, 'next']);
  });
});
