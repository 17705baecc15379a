/** Consumers of one process: what the server sends once, and what each of them still has for itself. */
import { failureOf, until } from '@coffer/testing';
import { expect } from 'chai';
import { LogRewrittenError } from '../errors.ts';
import type { EventStore, RecordedEvent } from '../port.ts';
import { openWorld, type World } from '../testing/eventStoreDbWorld.ts';
import { idsOf, newEvents, streamName } from '../testing/events.ts';
import { follow } from '../testing/follow.ts';
import { shareSubscription } from './sharedSubscription.ts';

describe('the consumers of one store on EventStoreDB', () => {
  let world: World;
  /** Where the subscriptions began that reached the server. */
  let begun: (string | undefined)[];
  beforeEach(async () => {
    begun = [];
    world = await openWorld({
      wrap: (served) => ({
        ...served,
        subscribeToAll(options) {
          begun.push(options.after?.position);
          return served.subscribeToAll(options);
        },
      }),
    });
  });
  afterEach(() => world.close());

  const write = (count: number): string[] => {
    const events = newEvents(count);
    const stream = streamName();
    world.log.append({ stream, expectedRevision: 'noStream', events });
    return idsOf(events);
  };
  const caughtUp = async (store: EventStore, count: number) => {
    const readers = Array.from({ length: count }, () => follow(store));
    for (const reader of readers) await reader.until(() => reader.told.includes('caughtUp'));
    return readers;
  };

  it('share one subscription once they have caught up', async () => {
    const ids = write(30);
    const readers = await caughtUp(world.open(), 5);
    ids.push(...write(20));
    for (const reader of readers) {
      await reader.until(() => reader.ids().length === ids.length);
      expect(reader.ids()).to.deep.equal(ids);
    }
    const before = begun.length;
    world.proxy.cut();
    ids.push(...write(20));
    for (const reader of readers) {
      await reader.until(() => reader.ids().length === ids.length);
      expect(reader.ids()).to.deep.equal(ids);
    }
    expect(begun.length).to.equal(before + 1);
    // Whoever gave the subscription may leave.
    for (const reader of readers.splice(0, 2)) await reader.stop();
    ids.push(...write(5));
    for (const reader of readers) {
      await reader.until(() => reader.ids().length === ids.length);
      expect(reader.ids()).to.deep.equal(ids);
      await reader.stop();
    }
  });

  it('each learn that the log was put back', async () => {
    write(20);
    const readers = await caughtUp(world.open(), 3);
    await world.stopServer();
    world.log.rewindTo(10);
    write(40);
    await world.startServer();
    for (const reader of readers) {
      expect(await failureOf(reader.ended)).to.be.instanceOf(LogRewrittenError);
      expect(reader.ids()).to.have.length(20);
    }
  });

  it('are given nothing twice, also who is ahead of the others when it joins them', async () => {
    const ids = write(1);
    const store = world.open();
    let read = 0;
    const shared = shareSubscription(async function* (options) {
      for await (const message of store.subscribeToAll(options)) {
        if (message.kind === 'events') read += message.events.length;
        yield message;
      }
    });
    const slow = shared({ signal: new AbortController().signal })[Symbol.asyncIterator]();
    const got: RecordedEvent[] = [];
    const next = async () => {
      const { value } = await slow.next();
      if (value.kind === 'events') got.push(...value.events);
      return value.kind;
    };
    while ((await next()) !== 'caughtUp');
    // From here on it shares: one event that it takes, and one that waits for it, behind which nothing is read for it.
    for (const count of [2, 3]) {
      const taking = count === 2 ? next() : undefined;
      ids.push(...write(1));
      await until(() => read === count);
      await taking;
    }
    ids.push(...write(1));

    const ahead = follow({ ...store, subscribeToAll: shared });
    await ahead.until(() => ahead.told.includes('caughtUp'));
    ids.push(...write(2));
    await ahead.until(() => ahead.ids().at(-1) === ids.at(-1));
    expect(ahead.ids()).to.deep.equal(ids);
    while (got.length < ids.length) await next();
    expect(idsOf(got)).to.deep.equal(ids);
    await ahead.stop();
    await slow.return?.();
  });

  it('do not wait for a slow one, which reads by itself until it is with them again', async () => {
    const ids = write(5);
    const store = world.open();
    let alone = 0;
    const shared = shareSubscription((options) => {
      alone += 1;
      return store.subscribeToAll(options);
    }, 100);
    const stopping = new AbortController();
    const slow = shared({ signal: stopping.signal, pageSize: 10 })[Symbol.asyncIterator]();
    const got: RecordedEvent[] = [];
    const told: string[] = [];
    const next = async () => {
      const { value } = await slow.next();
      told.push(value.kind);
      if (value.kind === 'events') got.push(...value.events);
    };
    const until = async (count: number) => {
      while (got.length < count || told.at(-1) !== 'caughtUp') await next();
    };
    await until(5);
    const fast = follow({ ...store, subscribeToAll: shared });
    await fast.until(() => fast.told.includes('caughtUp'));
    ids.push(...write(3));
    while (got.length < 8) await next();
    expect(alone).to.equal(2);
    for (let round = 0; round < 50; round++) {
      ids.push(...write(10));
      await fast.until(() => fast.ids().length === ids.length);
    }
    expect(fast.ids()).to.deep.equal(ids);
    await until(ids.length);
    expect(idsOf(got)).to.deep.equal(ids);
    expect(alone).to.equal(3);
    ids.push(...write(1));
    await next();
    expect(idsOf(got)).to.deep.equal(ids);
    expect(alone).to.equal(3);
    stopping.abort();
    await slow.return?.();
    await fast.stop();
  });
});
