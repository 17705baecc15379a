/** The part of the contract about reading: heads, a stream, the whole log. */
import { expect } from 'chai';
import type { EventStore, EventToAppend, RecordedEvent } from './port.ts';
import type { EventStoreHarness, MakeHarness } from './testing/eventStoreHarness.ts';
import { allOf, idsOf, newEvents, streamName } from './testing/events.ts';

export function readingContract(storeOf: () => EventStore): void {
  let store: EventStore;
  before(() => {
    store = storeOf();
  });

  describe('heads', () => {
    it('are the newest events of the streams, in the order asked', async () => {
      const [one, two, none] = [streamName(), streamName(), streamName()];
      const events = newEvents(3);
      await store.append({ stream: one, expectedRevision: 'noStream', events });
      await store.append({ stream: two, expectedRevision: 'noStream', events: events.slice(0, 1) });
      expect(await store.heads([two, none, one, two])).to.deep.equal([
        { revision: 0, eventId: events[0]?.id },
        undefined,
        { revision: 2, eventId: events[2]?.id },
        { revision: 0, eventId: events[0]?.id },
      ]);
      expect(await store.heads([])).to.deep.equal([]);
    });
  });

  describe('reading a stream', () => {
    const stream = streamName();
    const events = newEvents(2_500);
    before(async () => {
      // Three appends, and events of another stream between them.
      for (const [start, end] of [
        [0, 900],
        [900, 1_800],
        [1_800, 2_500],
      ] as const) {
        await store.append({
          stream,
          expectedRevision: start === 0 ? 'noStream' : start - 1,
          events: events.slice(start, end),
        });
        await store.append({ stream: streamName(), expectedRevision: 'noStream', events: newEvents(1) });
      }
    });

    it('gives all its events in order', async () => {
      const read = await allOf(store.readStream(stream));
      expect(idsOf(read)).to.deep.equal(idsOf(events));
      expect(read.map(({ revision }) => revision)).to.deep.equal(events.map((_, index) => index));
    });

    it('gives the tails of several, in the order asked', async () => {
      const none = streamName();
      const tailOf = (fromRevision: number) => ({ stream, fromRevision });
      const tails = await store.readTails(
        [tailOf(2_498), { ...tailOf(0), stream: none }, tailOf(899), tailOf(2_500)],
        3,
      );
      expect(tails.map(idsOf)).to.deep.equal([
        idsOf(events.slice(2_498)),
        [],
        idsOf(events.slice(899, 902)),
        [],
      ]);
      expect(tails[0]).to.deep.equal(await allOf(store.readStream(stream, { fromRevision: 2_498 })));
      expect(await store.readTails([], 3)).to.deep.equal([]);
    });

    it('gives them backwards', async () => {
      expect(idsOf(await allOf(store.readStream(stream, { direction: 'backwards' })))).to.deep.equal(
        idsOf(events).reverse(),
      );
    });

    for (const [fromRevision, limit] of [
      [0, 1],
      [1_000, undefined],
      [999, 1_001],
      [2_499, 10],
      [1, 0],
    ] as const) {
      const range = { fromRevision, ...(limit === undefined ? {} : { limit }) };
      it(`begins at revision ${fromRevision} and ends after ${limit ?? 'all'}, in both directions`, async () => {
        expect(idsOf(await allOf(store.readStream(stream, range)))).to.deep.equal(
          idsOf(events.slice(fromRevision).slice(0, limit)),
        );
        const backwards = await allOf(store.readStream(stream, { ...range, direction: 'backwards' }));
        expect(idsOf(backwards)).to.deep.equal(
          idsOf(
            events
              .slice(0, fromRevision + 1)
              .reverse()
              .slice(0, limit),
          ),
        );
      });
    }

    it('that does not exist, or beyond its end, gives nothing', async () => {
      expect(await allOf(store.readStream(streamName()))).to.deep.equal([]);
      expect(await allOf(store.readStream(stream, { fromRevision: 2_500 }))).to.deep.equal([]);
      const backwards = store.readStream(stream, { fromRevision: 9_999, direction: 'backwards', limit: 1 });
      expect(idsOf(await allOf(backwards))).to.deep.equal([events.at(-1)?.id]);
    });

    it('may be stopped in the middle', async () => {
      for await (const page of store.readStream(stream)) {
        expect(page[0]?.id).to.equal(events[0]?.id);
        break;
      }
      expect(await allOf(store.readStream(stream, { limit: 1 }))).to.have.length(1);
    });
  });
}

/** For a log that is empty at first. */
export function wholeLogContract(makeHarness: MakeHarness): void {
  describe('the whole log', () => {
    let fresh: EventStoreHarness;
    let events: RecordedEvent[];
    before(async () => {
      fresh = await makeHarness();
    });
    after(() => fresh.close());

    it('is empty at first', async () => {
      expect(await fresh.store.head()).to.equal(undefined);
      expect(await allOf(fresh.store.readAll())).to.deep.equal([]);
      expect(await allOf(fresh.store.readAll({ direction: 'backwards' }))).to.deep.equal([]);
    });

    it('gives every event in the order of positions, which is the order of the appends', async () => {
      const written: EventToAppend[] = [];
      for (let append = 0; append < 30; append++) {
        const batch = newEvents(77);
        await fresh.store.append({ stream: streamName(), expectedRevision: 'noStream', events: batch });
        written.push(...batch);
      }
      events = await allOf(fresh.store.readAll());
      expect(idsOf(events)).to.deep.equal(idsOf(written));
      events.slice(1).forEach((event, index) => {
        const before = events[index]?.position ?? event.position;
        expect(fresh.store.comparePositions(before, event.position)).to.be.lessThan(0);
      });
    });

    it('is read after a position, or backwards from before it', async () => {
      const middle = events[1_200];
      const after = await allOf(fresh.store.readAll(middle ? { from: middle.position } : {}));
      expect(idsOf(after)).to.deep.equal(idsOf(events.slice(1_201)));
      const before = fresh.store.readAll({
        direction: 'backwards',
        limit: 1_100,
        ...(middle ? { from: middle.position } : {}),
      });
      expect(idsOf(await allOf(before))).to.deep.equal(idsOf(events.slice(100, 1_200).reverse()));
      expect(idsOf(await allOf(fresh.store.readAll({ direction: 'backwards', limit: 2 })))).to.deep.equal(
        idsOf(events.slice(-2).reverse()),
      );
      expect(await allOf(fresh.store.readAll({ limit: 1 }))).to.deep.equal(events.slice(0, 1));
    });

    it('has one event at each position, and nothing beyond its end', async () => {
      for (const event of [events[0], events[1_200], events.at(-1)]) {
        if (!event) continue;
        const { position, id } = event;
        expect(await fresh.store.placeAt(position)).to.deep.equal({ position, eventId: id });
      }
      expect(await fresh.store.placeAt(fresh.positionBeyondEnd)).to.equal(undefined);
    });

    it('parses the positions that it writes, and no other text', () => {
      const { parsePosition } = fresh.store;
      for (const { position } of events.slice(0, 3)) expect(parsePosition(position)).to.equal(position);
      expect(parsePosition(fresh.positionBeyondEnd)).to.equal(fresh.positionBeyondEnd);
      const others = [
        '',
        ' ',
        'soon',
        '-1',
        '01',
        '1.0',
        '1e3',
        '0x10',
        '1/',
        '/1',
        '1/2/3',
        '１',
        '9'.repeat(20),
      ];
      for (const text of [...others, `${'9'.repeat(20)}/1`])
        expect(parsePosition(text), text).to.equal(undefined);
    });

    it('ends with its head, and knows the distance to it or that it cannot tell', async () => {
      const last = events.at(-1);
      const head = await fresh.store.head();
      expect(head).to.deep.equal({ position: last?.position, eventId: last?.id });
      if (!head) return;
      const middle = events[1_200]?.position;
      expect(fresh.store.distance(undefined, head.position)).to.be.oneOf([events.length, undefined]);
      expect(fresh.store.distance(middle, head.position)).to.be.oneOf([events.length - 1_201, undefined]);
    });
  });
}
