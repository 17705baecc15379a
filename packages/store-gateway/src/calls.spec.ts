import { randomUUID } from 'node:crypto';
import { connect, createServer, type Socket } from 'node:net';
import type { EventStore } from '@coffer/event-store';
import { type AppendFault, createMemoryEventStore, createMemoryLog } from '@coffer/event-store/memory';
import { newEvents, streamName } from '@coffer/event-store/testing';
import { failureOf, until } from '@coffer/testing';
import {
  DeadlineExceededError,
  EventStoreDBClient,
  TimeoutError,
  UnavailableError,
  UnknownError,
} from '@eventstore/db-client';
import { expect } from 'chai';
import { createStoreGateway } from './index.ts';
import { eventsOf, happened, numbers, revisionsOf } from './testing/events.ts';
import { credentials, openWorld } from './testing/gatewayWorld.ts';
import { watch } from './testing/watch.ts';

/** Chooses the method Append. */
const perCall = { credentials: { username: credentials.user, password: credentials.password } };
const STREAM = 'spec-test.app.1';

/** Counts what is taken from a store, read by read, and which reads have not ended. */
function counted(store: EventStore) {
  const reads: { events: number; isOpen: boolean }[] = [];
  async function* through<Item>(source: AsyncIterable<Item>, sizeOf: (item: Item) => number) {
    const read = { events: 0, isOpen: true };
    reads.push(read);
    try {
      for await (const item of source) {
        read.events += sizeOf(item);
        yield item;
      }
    } finally {
      read.isOpen = false;
    }
  }
  return {
    reads,
    async allEnded(): Promise<void> {
      await until(() => reads.length > 0 && reads.every(({ isOpen }) => !isOpen));
    },
    store: {
      ...store,
      readStream: (...args: Parameters<EventStore['readStream']>) =>
        through(store.readStream(...args), ({ length }) => length),
      readAll: (...args: Parameters<EventStore['readAll']>) =>
        through(store.readAll(...args), ({ length }) => length),
      subscribeToAll: (...args: Parameters<EventStore['subscribeToAll']>) =>
        through(store.subscribeToAll(...args), (message) =>
          message.kind === 'events' ? message.events.length : 0,
        ),
    } satisfies EventStore,
  };
}

async function fill(store: EventStore, count: number): Promise<void> {
  const text = JSON.stringify({ text: 'x'.repeat(4_000) });
  for (let written = 0; written < count; written += 200) {
    const events = newEvents(200).map((event) => ({ ...event, data: text }));
    await store.append({ stream: streamName(), expectedRevision: 'noStream', events });
  }
}

describe('a reader who takes nothing', () => {
  const COUNT = 6_000;
  for (const [what, open] of [
    ['a read of all', (client: EventStoreDBClient) => client.readAll()],
    ['a subscription', (client: EventStoreDBClient) => client.subscribeToAll()],
  ] as const) {
    it(`is not read ahead for: ${what}`, async () => {
      const store = createMemoryEventStore();
      await fill(store, COUNT);
      const { store: counting, reads } = counted(store);
      const world = await openWorld({ store: counting });
      try {
        const slow = open(world.client);
        await until(() => (reads[0]?.events ?? 0) > 0);
        // Somebody who reads on at the same time gets all of it; the gateway has had time enough for the other.
        expect(await eventsOf(world.another().readAll())).to.have.length(COUNT);
        expect(reads[0]?.events).to.be.at.most(2_000);
        let taken = 0;
        for await (const _event of slow) {
          taken += 1;
          if (taken === COUNT) break;
        }
        expect(taken).to.equal(COUNT);
      } finally {
        await world.close();
        await store.close();
      }
    });
  }
});

describe('a client that leaves', () => {
  for (const [what, begin] of [
    ['a subscription to all', (client: EventStoreDBClient) => client.subscribeToAll()],
    ['a subscription to a stream', (client: EventStoreDBClient) => client.subscribeToStream(STREAM)],
  ] as const) {
    it(`leaves nothing behind: ${what} that is given up while waiting`, async () => {
      const { store, allEnded } = counted(createMemoryEventStore());
      const world = await openWorld({ store });
      try {
        const reader = watch(begin(world.client));
        await reader.until(() => reader.told.includes('caughtUp'));
        await reader.stop();
        await allEnded();
      } finally {
        await world.close();
        await store.close();
      }
    });
  }

  it('leaves nothing behind: a read and a subscription whose connection is cut in the middle', async () => {
    const { store, allEnded, reads } = counted(createMemoryEventStore());
    await fill(store, 4_000);
    const world = await openWorld({ store });
    const sockets: Socket[] = [];
    const proxy = createServer((socket) => {
      const onward = connect(world.port, '127.0.0.1');
      sockets.push(socket, onward);
      for (const each of [socket, onward]) each.on('error', () => undefined);
      socket.pipe(onward).pipe(socket);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const address = proxy.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const client = EventStoreDBClient.connectionString(`esdb://127.0.0.1:${port}?tls=false`);
    try {
      const broken = [client.readAll(), client.subscribeToAll()].map(
        (read) => new Promise((resolve) => read.on('error', resolve)),
      );
      await until(() => reads.length >= 2 && reads.every(({ events }) => events > 0));
      for (const socket of sockets) socket.destroy();
      await allEnded();
      for (const error of await Promise.all(broken)) expect(error).to.be.instanceOf(UnavailableError);
    } finally {
      await client.dispose();
      await new Promise((resolve) => proxy.close(resolve));
      await world.close();
      await store.close();
    }
  });
});

it('a subscription to a stream does not go through the log from before it', async () => {
  const { store, reads } = counted(createMemoryEventStore());
  await fill(store, 1_000);
  const world = await openWorld({ store });
  try {
    await world.client.appendToStream(STREAM, happened('this'));
    const reader = watch(world.client.subscribeToStream(STREAM));
    await reader.until(() => reader.told.includes('caughtUp'));
    expect(reads.map(({ events }) => events)).to.deep.equal([1, 0]);
    await reader.stop();
  } finally {
    await world.close();
    await store.close();
  }
});

describe('a gateway that is stopped', () => {
  it('answers the appends in flight, ends the subscriptions, and frees the port', async () => {
    const gate = Promise.withResolvers<AppendFault>();
    let underWay = 0;
    const faults = () => {
      underWay += 1;
      return gate.promise;
    };
    const store = createMemoryEventStore({ faults });
    const { store: counting, allEnded } = counted(store);
    const world = await openWorld({ store: counting });
    const appends = [{}, perCall].map((options) =>
      world.another().appendToStream(streamName(), happened('this'), options),
    );
    const reader = watch(world.client.subscribeToAll());
    await reader.until(() => reader.told.includes('caughtUp'));
    await until(() => underWay >= appends.length);
    const stopped = world.stopGateway();
    await reader.until(() => reader.error() !== undefined);
    expect(reader.error()).to.be.instanceOf(UnavailableError);
    gate.resolve(undefined);
    for (const append of appends) expect((await append).success).to.equal(true);
    await stopped;
    await allEnded();
    const next = await createStoreGateway({
      store,
      host: '127.0.0.1',
      port: world.port,
      credentials,
      allowWrites: false,
    });
    await next.stop();
    await world.close();
    await store.close();
  });

  it('does not wait for ever for an append that is not answered', async () => {
    const began = Promise.withResolvers<void>();
    const store = createMemoryEventStore();
    const never = new Promise<never>(() => undefined);
    const append = () => {
      began.resolve();
      return never;
    };
    const world = await openWorld({ store: { ...store, append } });
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    const options = { deadline: 600_000 };
    const outcome = failureOf(world.client.appendToStream(STREAM, happened('this'), options));
    await began.promise;
    await world.stopGateway();
    expect(await outcome).to.be.instanceOf(Error);
    await world.close();
    await store.close();
    await until(() => timers() <= before);
  });

  it('does not start if something else listens there', async () => {
    const world = await openWorld();
    const { store, port } = world;
    const second = createStoreGateway({ store, host: '127.0.0.1', port, credentials, allowWrites: false });
    expect(await failureOf(second)).to.match(/EADDRINUSE/);
    await world.close();
  });
});

describe('an append whose store is in trouble', () => {
  const withFaults = async (
    faults: () => AppendFault | Promise<AppendFault>,
    use: (append: (options?: object) => Promise<unknown>) => Promise<void>,
  ) => {
    const store = createMemoryEventStore({ faults });
    const world = await openWorld({ store });
    const event = happened('this', randomUUID());
    try {
      await use((options = {}) =>
        world.client.appendToStream(STREAM, event, { expectedRevision: 'no_stream', ...options }),
      );
    } finally {
      await world.close();
      await store.close();
    }
  };

  it('that is unreachable, is answered so with nothing written', () =>
    withFaults(
      () => 'fail',
      async (append) => {
        const error = await failureOf(append());
        expect(error)
          .to.be.instanceOf(UnknownError)
          .and.match(/The store is away/);
        expect(await failureOf(append(perCall))).to.be.instanceOf(UnavailableError);
      },
    ));

  it('that has lost the reply, is answered with a time-out, and its retry is found', async () => {
    const faults: AppendFault[] = ['loseReply', undefined, 'loseReply', undefined];
    await withFaults(
      () => faults.shift(),
      async (append) => {
        expect(await failureOf(append())).to.be.instanceOf(DeadlineExceededError);
        expect(await append()).to.include({ success: true, nextExpectedRevision: 0n });
        expect(await failureOf(append(perCall))).to.be.instanceOf(TimeoutError);
        expect(await append(perCall)).to.include({ success: true, nextExpectedRevision: 0n });
      },
    );
  });

  it('that takes too long, is answered at its deadline, and may be written later', async () => {
    const gate = Promise.withResolvers<AppendFault>();
    await withFaults(
      () => gate.promise,
      async (append) => {
        for (const options of [{}, perCall]) {
          const error = await failureOf(append({ ...options, deadline: 40 }));
          expect(error).to.be.instanceOf(DeadlineExceededError);
        }
        gate.resolve(undefined);
        expect(await append()).to.include({ success: true, nextExpectedRevision: 0n });
      },
    );
  });

  it('that fails in an unexpected way, is answered no more than that, while the log has the details', async () => {
    const store = createMemoryEventStore();
    const logged: unknown[] = [];
    const world = await openWorld({
      store: {
        ...store,
        append: async () => {
          throw new TypeError('a secret');
        },
      },
      logger: { warn: (fields) => logged.push(fields) },
    });
    try {
      for (const options of [{}, perCall]) {
        const error = await failureOf(world.client.appendToStream(STREAM, happened('this'), options));
        expect(error)
          .to.be.instanceOf(UnknownError)
          .and.not.match(/secret/);
      }
      expect(logged).to.have.length(2);
    } finally {
      await world.close();
      await store.close();
    }
  });
});

it('appends to one stream over one connection are written in the order they were sent', async () => {
  const world = await openWorld();
  try {
    const sent = numbers(1_000);
    // Until it has asked once what the server can do, the client itself does not keep the order.
    await world.client.appendToStream(streamName(), happened('first'));
    await Promise.all(sent.map((number) => world.client.appendToStream(STREAM, happened(number))));
    const events = await eventsOf(world.client.readStream(STREAM));
    expect(revisionsOf(events)).to.deep.equal(sent);
    expect(events.map(({ data }) => data)).to.deep.equal(sent.map((number) => ({ what: `${number}` })));
  } finally {
    await world.close();
  }
});

it('a subscription ends with an error if the log is rewritten under it', async () => {
  const log = createMemoryLog();
  const store = createMemoryEventStore({ log });
  const world = await openWorld({ store });
  try {
    await world.client.appendToStream(
      STREAM,
      numbers(3).map((number) => happened(number)),
    );
    const reader = watch(world.client.subscribeToAll());
    await reader.until(() => reader.told.includes('caughtUp'));
    log.rewindTo(1);
    await reader.until(() => reader.error() !== undefined);
    expect(reader.error()).to.match(/does not hold event/);
  } finally {
    await world.close();
    await store.close();
  }
});
