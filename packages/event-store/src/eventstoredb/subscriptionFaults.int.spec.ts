/** Every way in which a subscription of the client can end, fail or hang, and what its reader sees of it. ADR 0014. */
import { failureOf, until } from '@coffer/testing';
import { expect } from 'chai';
import { LogRewrittenError, StoreUnreachableError } from '../errors.ts';
import type { EventStore, ReadAllOptions, SubscribeOptions } from '../port.ts';
import { openWorld, type World, type WorldOptions } from '../testing/eventStoreDbWorld.ts';
import { newEvents, streamName } from '../testing/events.ts';
import { follow } from '../testing/follow.ts';

/** Records where each subscription and each read of the server began, and lets a spec end or block them. */
function watched() {
  const begun: (string | undefined)[] = [];
  const looks: ReadAllOptions[] = [];
  let change = Promise.withResolvers<void>();
  const changed = (): void => {
    const { resolve } = change;
    change = Promise.withResolvers<void>();
    resolve();
  };
  let messagesLeft = Infinity;
  let then: 'end' | 'block' = 'end';
  const wrap = (store: EventStore): EventStore => ({
    ...store,
    readAll(options = {}) {
      looks.push(options);
      changed();
      return store.readAll(options);
    },
    async *subscribeToAll(options: SubscribeOptions) {
      begun.push(options.after?.position);
      changed();
      for await (const message of store.subscribeToAll({ ...options, pageSize: 5 })) {
        if (messagesLeft <= 0 && then === 'end') return;
        if (messagesLeft <= 0)
          await new Promise((resolve) => options.signal.addEventListener('abort', resolve));
        messagesLeft -= 1;
        yield message;
      }
    },
  });
  return {
    begun,
    looks,
    wrap,
    async until(isReached: () => boolean): Promise<void> {
      while (!isReached()) await change.promise;
    },
    after(messages: number, what: 'end' | 'block') {
      messagesLeft = messages;
      then = what;
    },
    noMore() {
      messagesLeft = Infinity;
    },
  };
}

describe('a subscription to EventStoreDB', () => {
  const worlds: World[] = [];
  const makeWorld = async (options: WorldOptions = {}): Promise<World> => {
    const world = await openWorld(options);
    worlds.push(world);
    return world;
  };
  afterEach(async () => {
    for (const world of worlds.splice(0)) await world.close();
  });
  const write = (world: World, count: number, stream = streamName()): string[] => {
    const events = newEvents(count);
    world.log.append({ stream, expectedRevision: 'any', events });
    return events.map(({ id }) => id);
  };

  const troubles: readonly (readonly [string, (world: World) => void | Promise<void>])[] = [
    ['its connection is cut', (world) => world.proxy.cut()],
    ['its connection is half closed', (world) => world.proxy.halfClose()],
    ['the server restarts', (world) => world.restart()],
    [
      'the server is away for a while',
      async (world) => {
        await world.proxy.goAway();
        await world.proxy.comeBack();
      },
    ],
  ];
  for (const [trouble, make] of troubles) {
    it(`continues where it was when ${trouble}`, async () => {
      const world = await makeWorld();
      const reader = follow(world.open(), { pageSize: 7 });
      const ids: string[] = [];
      for (let round = 0; round < 3; round++) {
        ids.push(...write(world, 30));
        await reader.until(() => reader.ids().length === ids.length);
        await make(world);
        ids.push(...write(world, 3));
      }
      await reader.until(() => reader.ids().length >= ids.length);
      expect(reader.ids()).to.deep.equal(ids);
      expect(world.troubles.length).to.be.at.least(3);
      await reader.stop();
    });
  }

  it('continues after breaking in the middle of old events, and catches up once', async () => {
    const world = await makeWorld();
    const ids = write(world, 20_000);
    let taken = 0;
    const stopping = new AbortController();
    const seen: string[] = [];
    for await (const message of world.open().subscribeToAll({ signal: stopping.signal, pageSize: 100 })) {
      if (message.kind === 'caughtUp') break;
      seen.push(...message.events.map(({ id }) => id));
      taken += 1;
      if (taken % 40 === 0) world.proxy.cut();
    }
    expect(seen).to.deep.equal(ids);
    expect(world.troubles).not.to.deep.equal([]);
  });

  it('continues when the server ends it silently', async () => {
    const server = watched();
    const world = await makeWorld({ wrap: server.wrap });
    const ids = write(world, 50);
    server.after(3, 'end');
    const reader = follow(world.open());
    await reader.until(() => reader.ids().length === 15);
    server.noMore();
    await reader.until(() => reader.told.includes('caughtUp'));
    expect(reader.ids()).to.deep.equal(ids);
    expect(world.troubles).to.include('The server ended the subscription.');
    await reader.stop();
  });

  it('is restarted when it stands still while the log grows', async () => {
    const server = watched();
    const world = await makeWorld({ wrap: server.wrap });
    const ids = write(world, 50);
    server.after(3, 'block');
    const reader = follow(world.open({ watchMs: 50 }));
    await reader.until(() => reader.ids().length === 15);
    server.noMore();
    await reader.until(() => reader.told.includes('caughtUp'));
    expect(reader.ids()).to.deep.equal(ids);
    expect(world.troubles).to.include('The log has new events, but the subscription delivers none.');
    await reader.stop();
  });

  it('is left alone while the log is quiet', async () => {
    const server = watched();
    const world = await makeWorld({ wrap: server.wrap });
    write(world, 5);
    const reader = follow(world.open({ watchMs: 5 }));
    await reader.until(() => reader.told.includes('caughtUp'));
    const before = server.looks.length;
    await server.until(() => server.looks.length >= before + 5);
    expect(server.begun).to.have.length(1);
    expect(reader.ids()).to.have.length(5);
    await reader.stop();
  });

  it('does not wait for ever for a server that does not confirm it', async () => {
    const world = await makeWorld();
    const ids = write(world, 5);
    world.proxy.holdReplies();
    const reader = follow(world.open({ readSilenceMs: 100 }));
    while (world.troubles.length === 0) await world.proxy.untilConnections(world.proxy.connections() + 1);
    world.proxy.release();
    await reader.until(() => reader.told.includes('caughtUp'));
    expect(reader.ids()).to.deep.equal(ids);
    await reader.stop();
  });

  it('ends at once when told to, even while the server is silent', async () => {
    const server = watched();
    const world = await makeWorld({ wrap: server.wrap });
    write(world, 5);
    const reader = follow(world.open({ watchMs: 20, readSilenceMs: 60_000 }));
    await reader.until(() => reader.told.includes('caughtUp'));
    world.proxy.holdReplies();
    const before = server.looks.length;
    await server.until(() => server.looks.length > before);
    await reader.stop();
  });

  it('survives an error of its trouble listener', async () => {
    const world = await makeWorld();
    const ids = write(world, 5);
    const store = world.open({
      onTrouble: () => {
        throw new Error('The one who was told has troubles of his own.');
      },
    });
    const reader = follow(store);
    await reader.until(() => reader.told.includes('caughtUp'));
    world.proxy.cut();
    ids.push(...write(world, 5));
    await reader.until(() => reader.ids().length === 10);
    expect(reader.ids()).to.deep.equal(ids);
    await reader.stop();
  });

  it("ends with its reader's error, and leaves nothing open", async () => {
    const world = await makeWorld();
    write(world, 50);
    const store = world.open();
    const reading = (async () => {
      const stopping = new AbortController();
      for await (const _message of store.subscribeToAll({ signal: stopping.signal, pageSize: 10 })) {
        throw new Error('The reader fails.');
      }
    })();
    expect(String(await failureOf(reading))).to.include('The reader fails.');
    await store.close();
    await world.proxy.untilConnections(0);
  });

  it("restarts after the server's own events, which it was not sent", async () => {
    const server = watched();
    const world = await makeWorld({ wrap: server.wrap });
    const ids = write(world, 3);
    const reader = follow(world.open());
    await reader.until(() => reader.told.includes('caughtUp'));
    for (let portion = 0; portion < 2; portion++) {
      const before = server.looks.length;
      write(world, 600, '$stats');
      // The event at the checkpoint is read; the second read means that the first was answered.
      await server.until(() => server.looks.length > before);
    }
    world.proxy.cut();
    await server.until(() => server.begun.length === 2);
    expect(Number(server.begun[1])).to.be.greaterThan(250);
    ids.push(...write(world, 1));
    await reader.until(() => reader.ids().length === ids.length);
    expect(reader.ids()).to.deep.equal(ids);
    await reader.stop();
  });

  it('ends when the log was replaced with an older one while the server was away', async () => {
    const world = await makeWorld();
    write(world, 20);
    const reader = follow(world.open());
    await reader.until(() => reader.told.includes('caughtUp'));
    await world.stopServer();
    world.log.rewindTo(10);
    write(world, 40);
    await world.startServer();
    expect(await failureOf(reader.ended)).to.be.instanceOf(LogRewrittenError);
    expect(reader.ids()).to.have.length(20);
  });

  it('ends when there is no event left at its place, for which the server only reports a failure', async () => {
    let isReplaced = false;
    const world = await makeWorld({
      wrap: (store) => ({
        ...store,
        readAll(options = {}) {
          if (isReplaced && options.direction === 'forwards')
            throw new Error('No event begins at that place.');
          return store.readAll(options);
        },
      }),
    });
    write(world, 5);
    const reader = follow(world.open());
    await reader.until(() => reader.told.includes('caughtUp'));
    isReplaced = true;
    world.proxy.cut();
    expect(await failureOf(reader.ended)).to.be.instanceOf(LogRewrittenError);
  });

  it('continues when the server fails for a while in unknown ways', async () => {
    let failures = 6;
    const world = await makeWorld({
      wrap: (store) => ({
        ...store,
        readAll(options = {}) {
          failures -= 1;
          if (failures >= 0) throw new Error('The server is not well.');
          return store.readAll(options);
        },
      }),
    });
    const ids = write(world, 5);
    const reader = follow(world.open());
    await reader.until(() => reader.told.includes('caughtUp'));
    expect(reader.ids()).to.deep.equal(ids);
    await reader.stop();
  });

  it("finds the head before any number of the server's own events", async () => {
    const server = watched();
    const world = await makeWorld({ wrap: server.wrap });
    const ids = write(world, 3);
    const store = world.open();
    for (let count = 0; count < 2; count++) write(world, 1_000, '$stats');
    const before = server.looks.length;
    expect((await store.head())?.eventId).to.equal(ids.at(-1));
    // In pages, the client's or the server's size, and not one by one.
    expect(server.looks.length - before).to.be.at.most(100);
  });

  it('that fails during a vain search for the cluster harms nobody', async () => {
    const failure = Promise.withResolvers<never>();
    let begun = 0;
    const world = await makeWorld({
      wrap: (store) => ({
        ...store,
        async *subscribeToAll(options: SubscribeOptions) {
          begun += 1;
          const isFirst = begun === 1;
          for await (const message of store.subscribeToAll(options)) {
            yield message;
            if (isFirst && message.kind === 'caughtUp') await failure.promise;
          }
        },
      }),
    });
    const settings = 'tls=false&maxDiscoverAttempts=1&discoveryInterval=50';
    const store = world.open({
      connectionString: `esdb+discover://127.0.0.1:${world.proxy.port}?${settings}`,
    });
    const readers = [follow(store), follow(store)];
    for (const reader of readers) await reader.until(() => reader.told.includes('caughtUp'));
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', note);
    try {
      failure.reject(new StoreUnreachableError('The spec ends it.'));
      await until(() => world.troubles.length > 0);
      // The client searches for the cluster, which stays silent; then the other subscription fails, and then the search.
      world.proxy.holdReplies();
      await world.proxy.untilConnections(2);
      world.proxy.cut();
      world.proxy.release();
      const ids = write(world, 3);
      for (const reader of readers) {
        await reader.until(() => reader.ids().length === ids.length);
        expect(reader.ids()).to.deep.equal(ids);
        await reader.stop();
      }
      expect(unhandled).to.deep.equal([]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });

  it('shares a connection with many others, and survives while the cluster cannot be found', async () => {
    const world = await makeWorld();
    const ids = write(world, 10);
    const settings = 'tls=false&maxDiscoverAttempts=1&discoveryInterval=1';
    const store = world.open({
      connectionString: `esdb+discover://127.0.0.1:${world.proxy.port}?${settings}`,
    });
    const readers = Array.from({ length: 12 }, () => follow(store));
    for (const reader of readers) await reader.until(() => reader.told.includes('caughtUp'));
    expect(world.proxy.connections()).to.equal(1);
    await world.proxy.goAway();
    await until(() => world.troubles.filter((message) => message.includes('No node leads')).length >= 12);
    await world.proxy.comeBack();
    ids.push(...write(world, 10));
    for (const reader of readers) {
      await reader.until(() => reader.ids().length === ids.length);
      expect(reader.ids()).to.deep.equal(ids);
      await reader.stop();
    }
  });
});
