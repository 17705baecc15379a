/** The part of the contract about following the log. */

import { randomUUID } from 'node:crypto';
import { failureOf } from '@coffer/testing';
import { expect } from 'chai';
import { LogRewrittenError } from './errors.ts';
import type { EventStore, LogPlace } from './port.ts';
import type { EventStoreHarness, MakeHarness } from './testing/eventStoreHarness.ts';
import { newEvents, streamName } from './testing/events.ts';
import { follow } from './testing/follow.ts';

const writeTo = async (store: EventStore, count: number): Promise<string[]> => {
  const events = newEvents(count);
  await store.append({ stream: streamName(), expectedRevision: 'noStream', events });
  return events.map(({ id }) => id);
};

const headOf = async (store: EventStore): Promise<LogPlace> => {
  const head = await store.head();
  return head ?? expect.fail('The log is empty.');
};

export function subscriptionContract(harnessOf: () => EventStoreHarness): void {
  describe('a subscription', () => {
    let harness: EventStoreHarness;
    let store: EventStore;
    before(async () => {
      harness = harnessOf();
      store = harness.store;
      await writeTo(store, 1);
    });

    it('after a place gives what follows it', async () => {
      const after = await headOf(store);
      const written = await writeTo(store, 3);
      const reader = follow(store, { after });
      await reader.until(() => reader.told.includes('caughtUp'));
      expect(reader.ids()).to.deep.equal(written);
      await reader.stop();
    });

    it('after the head has caught up before anything arrives', async () => {
      const reader = follow(store, { after: await headOf(store) });
      await reader.until(() => reader.told.length > 0);
      expect(reader.told).to.deep.equal(['caughtUp']);
      await reader.stop();
    });

    it('continues live, woken by appends of this process and of others, without catching up again', async () => {
      const other = harness.another();
      const reader = follow(store, { after: await headOf(store) });
      await reader.until(() => reader.told.includes('caughtUp'));
      const written: string[] = [];
      for (let round = 0; round < 6; round++) {
        written.push(...(await writeTo(round % 2 ? store : other, 2)));
        await reader.until(() => reader.ids().length === written.length);
      }
      expect(reader.ids()).to.deep.equal(written);
      expect(reader.told.filter((entry) => entry === 'caughtUp')).to.have.length(1);
      await reader.stop();
    });

    it('that fell behind catches up again', async () => {
      const after = await headOf(store);
      const stopping = new AbortController();
      let events = 0;
      const caughtUpAt: number[] = [];
      for await (const message of store.subscribeToAll({ after, signal: stopping.signal, pageSize: 10 })) {
        if (message.kind === 'events') events += message.events.length;
        else caughtUpAt.push(events);
        // While the consumer works, the log grows by several pages.
        if (caughtUpAt.length === 1 && events === 0) await writeTo(store, 35);
        if (caughtUpAt.length === 2) stopping.abort();
      }
      expect(caughtUpAt).to.deep.equal([0, 35]);
    });

    it('misses nothing and repeats nothing while many write', async () => {
      const after = await headOf(store);
      const other = harness.another();
      const reader = follow(store, { after, pageSize: 50 });
      const written = await Promise.all(
        Array.from({ length: 400 }, (_, index) => writeTo(index % 2 ? store : other, 1 + (index % 3))),
      );
      const ids = written.flat();
      await reader.until(() => reader.ids().length >= ids.length);
      expect(reader.ids()).to.have.length(ids.length).and.to.have.members(ids);
      const positions = reader.told.filter((entry) => entry !== 'caughtUp').map(({ position }) => position);
      expect(positions).to.deep.equal([...positions].sort(store.comparePositions));
      await reader.stop();
    });

    it('ends when it is aborted: before it begins, while it waits, and in the middle of the events', async () => {
      const aborted = store.subscribeToAll({ signal: AbortSignal.abort() });
      for await (const message of aborted) expect.fail(`It continued with ${message.kind}.`);

      const waiting = follow(store, { after: await headOf(store) });
      await waiting.until(() => waiting.told.includes('caughtUp'));
      await waiting.stop();

      await writeTo(store, 30);
      const stopping = new AbortController();
      let pages = 0;
      for await (const message of store.subscribeToAll({ signal: stopping.signal, pageSize: 10 })) {
        expect(message.kind).to.equal('events');
        pages += 1;
        stopping.abort();
      }
      expect(pages).to.equal(1);
    });

    it('may be stopped in the middle', async () => {
      await writeTo(store, 30);
      for await (const message of store.subscribeToAll({
        signal: new AbortController().signal,
        pageSize: 10,
      })) {
        expect(message.kind).to.equal('events');
        break;
      }
    });

    it('ends when its store closes', async () => {
      const other = harness.another();
      const reader = follow(other, { after: await headOf(store) });
      await reader.until(() => reader.told.includes('caughtUp'));
      await other.close();
      await reader.ended;
    });

    it('refuses a place whose position holds another event, because the log was rewritten', async () => {
      const { position } = await headOf(store);
      const reader = follow(store, { after: { position, eventId: randomUUID() } });
      expect(await failureOf(reader.ended)).to.be.instanceOf(LogRewrittenError);
      expect(reader.told).to.deep.equal([]);
    });

    it('refuses a place beyond the end, because the log was rewritten', async () => {
      const { eventId } = await headOf(store);
      const reader = follow(store, { after: { position: harness.positionBeyondEnd, eventId } });
      expect(await failureOf(reader.ended)).to.be.instanceOf(LogRewrittenError);
      expect(reader.told).to.deep.equal([]);
    });
  });
}

/** For a log that is empty at first, and can be rewound. */
export function rewindingContract(makeHarness: MakeHarness): void {
  describe('a subscription to a fresh log', () => {
    const freshOnes: EventStoreHarness[] = [];
    /** A new log, which is released even when the spec fails. */
    const makeFresh = async (): Promise<EventStoreHarness> => {
      const fresh = await makeHarness();
      freshOnes.push(fresh);
      return fresh;
    };
    afterEach(async () => {
      for (const fresh of freshOnes.splice(0)) await fresh.close();
    });

    it('from the start gives every event in order, then catches up', async () => {
      const fresh = await makeFresh();
      const written = [...(await writeTo(fresh.store, 500)), ...(await writeTo(fresh.store, 750))];
      const reader = follow(fresh.store, { pageSize: 100 });
      await reader.until(() => reader.told.includes('caughtUp'));
      expect(reader.ids()).to.deep.equal(written);
      expect(reader.told.indexOf('caughtUp')).to.equal(written.length);
      expect(Math.max(...reader.pageSizes)).to.be.at.most(100);
      await reader.stop();
    });

    it('to an empty log has caught up at once', async () => {
      const fresh = await makeFresh();
      const reader = follow(fresh.store);
      await reader.until(() => reader.told.includes('caughtUp'));
      const written = await writeTo(fresh.store, 2);
      await reader.until(() => reader.ids().length === 2);
      expect(reader.ids()).to.deep.equal(written);
      await reader.stop();
    });

    for (const appendedSince of [0, 7]) {
      it(`ends when the log is rewound and ${appendedSince} other events were appended`, async () => {
        const fresh = await makeFresh();
        await writeTo(fresh.store, 5);
        const reader = follow(fresh.store);
        await reader.until(() => reader.told.includes('caughtUp'));
        await fresh.rewindTo(2);
        if (appendedSince > 0) await writeTo(fresh.store, appendedSince);
        expect(await failureOf(reader.ended)).to.be.instanceOf(LogRewrittenError);
        expect(reader.ids()).to.have.length(5);
      });
    }
  });
}
