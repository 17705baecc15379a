/** Every way in which an append through the client can fail, and what the store makes of it. ADR 0014. */
import { failureOf, startStoreGatewayProcess } from '@coffer/testing';
import { expect } from 'chai';
import {
  EventTooLargeError,
  LogRewrittenError,
  OutcomeUnknownError,
  StoreUnreachableError,
  WrongExpectedRevisionError,
} from '../errors.ts';
import type { AppendFault } from '../memory/index.ts';
import type { AppendRequest } from '../port.ts';
import { type Acknowledged, appendUntilKnown, faultsIn } from '../testing/acknowledged.ts';
import { onceServed, openWorld, type World, type WorldOptions } from '../testing/eventStoreDbWorld.ts';
import { allOf, idsOf, newEvent, newEvents, streamName } from '../testing/events.ts';
import { follow } from '../testing/follow.ts';
import { createEventStoreDbEventStore } from './index.ts';

const request = (): AppendRequest => ({
  stream: streamName(),
  expectedRevision: 'noStream',
  events: newEvents(2),
});

describe('an append to EventStoreDB', () => {
  const worlds: World[] = [];
  const makeWorld = async (options: WorldOptions = {}): Promise<World> => {
    const world = await openWorld(options);
    worlds.push(world);
    return world;
  };
  afterEach(async () => {
    for (const world of worlds.splice(0)) await world.close();
  });
  const stored = async (world: World, { stream }: AppendRequest) =>
    idsOf(await allOf(world.served.readStream(stream)));

  it('whose reply is lost is found by reading the expected place', async () => {
    const world = await makeWorld();
    const store = world.open();
    const append = request();
    world.onNextAppend(() => {
      world.proxy.swallowReplies();
      // The connection ends once the events are in the log.
      world.log.changed().then(() => world.proxy.cut());
    });
    expect(await store.append(append)).to.deep.equal({
      revision: 1,
      position: '2/2',
      alreadyAppended: true,
    });
    expect(await stored(world, append)).to.deep.equal(idsOf(append.events));
  });

  it('that was lost on its way has an unknown outcome, and its retry writes it', async () => {
    const world = await makeWorld();
    const store = world.open();
    const append = request();
    world.onNextAppend(() => {
      world.proxy.cut();
      return 'fail';
    });
    expect(await failureOf(store.append(append))).to.be.instanceOf(OutcomeUnknownError);
    expect((await store.append(append)).alreadyAppended).to.equal(false);
    expect(await stored(world, append)).to.deep.equal(idsOf(append.events));
  });

  it('with no answer is unknown after a time of its own, and a late reply harms nobody', async () => {
    const world = await makeWorld();
    const store = world.open({ appendTimeoutMs: 200 });
    const append = request();
    const answer = Promise.withResolvers<AppendFault>();
    world.onNextAppend(() => answer.promise);
    expect(await failureOf(store.append(append))).to.be.instanceOf(OutcomeUnknownError);
    const written = world.log.changed();
    answer.resolve(undefined);
    await written;
    expect((await store.append(append)).alreadyAppended).to.equal(true);
  });

  it('over a connection that goes silent is found over another one', async () => {
    const world = await makeWorld();
    const store = world.open({ appendTimeoutMs: 200, readSilenceMs: 200 });
    // The silent server has this connection too, and keeps it.
    const reader = follow(store);
    await reader.until(() => reader.told.includes('caughtUp'));
    const append = request();
    world.onNextAppend(() => {
      world.proxy.swallowReplies();
    });
    expect((await store.append(append)).alreadyAppended).to.equal(true);
    expect(await stored(world, append)).to.deep.equal(idsOf(append.events));
    await reader.stop();
  });

  it('is settled when the server half-closes the connection', async () => {
    const world = await makeWorld();
    const store = world.open({ appendTimeoutMs: 500 });
    const append = request();
    world.onNextAppend(() => {
      world.proxy.halfClose();
    });
    const [outcome] = await Promise.allSettled([store.append(append)]);
    if (outcome?.status === 'rejected') expect(outcome.reason).to.be.instanceOf(OutcomeUnknownError);
    expect((await store.append(append)).alreadyAppended).to.equal(true);
    expect(await stored(world, append)).to.deep.equal(idsOf(append.events));
  });

  it('is not affected by the failure of another client in the process', async () => {
    const world = await makeWorld();
    const failing = world.open();
    const healthy = world.open({ connectionString: `esdb://127.0.0.1:${world.port}?tls=false` });
    const [lost, held] = [request(), request()];
    const gate = Promise.withResolvers<AppendFault>();
    const arrived = Promise.withResolvers<void>();
    world.onNextAppend(() => {
      arrived.resolve();
      return gate.promise;
    });
    const answer = healthy.append(held);
    await arrived.promise;
    world.onNextAppend(() => {
      world.proxy.cut();
      return 'fail';
    });
    expect(await failureOf(failing.append(lost))).to.be.instanceOf(OutcomeUnknownError);
    gate.resolve(undefined);
    expect(await answer).to.deep.equal({ revision: 1, position: '2/2', alreadyAppended: false });
  });

  it('gets its own answer when answers come in another order', async () => {
    const gates: PromiseWithResolvers<void>[] = [];
    const world = await makeWorld({
      wrap: (store) => ({
        ...store,
        async append(append) {
          const gate = Promise.withResolvers<void>();
          gates.push(gate);
          if (gates.length === 20) for (const held of gates.toReversed()) setImmediate(held.resolve);
          const result = await store.append(append);
          await gate.promise;
          return result;
        },
      }),
    });
    const store = world.open();
    const appends = Array.from({ length: 20 }, (_, index) => ({
      ...request(),
      events: newEvents(1 + (index % 5)),
    }));
    const results = await Promise.all(appends.map((append) => store.append(append)));
    for (const [index, { stream, events }] of appends.entries()) {
      const last = (await allOf(world.served.readStream(stream))).at(-1);
      expect(results[index]).to.deep.equal({
        revision: events.length - 1,
        position: `${last?.position}/${last?.position}`,
        alreadyAppended: false,
      });
    }
  });

  it('is told the truth when the connection breaks with 1,000 under way: none is lost, none doubled', async () => {
    const world = await makeWorld();
    const store = world.open();
    const places = Array.from({ length: 1_000 }, () => ({ stream: streamName(), last: -1 }));
    // Half of the streams are known to this connection.
    const acknowledged: Acknowledged[] = [];
    const append = async (place: (typeof places)[number]) =>
      void acknowledged.push(await appendUntilKnown(store, place, 2));
    await Promise.all(places.slice(500).map(append));
    world.onNextAppend(() => {
      world.proxy.swallowReplies();
      world.log.changed().then(() => world.proxy.cut());
    });
    await Promise.all(places.map(append));
    expect(acknowledged).to.have.length(1_500);
    expect(faultsIn(await allOf(world.served.readAll()), acknowledged)).to.deep.equal([]);
  });

  it('reads its place only if this connection does not know it', async () => {
    let reads = 0;
    const world = await makeWorld({
      wrap: (served) => ({
        ...served,
        readStream(...asked) {
          reads += 1;
          return served.readStream(...asked);
        },
      }),
    });
    const store = world.open();
    const { stream, events } = request();
    await store.append({ stream, expectedRevision: 'noStream', events });
    expect(reads).to.equal(1);
    const next = { stream, expectedRevision: 1, expectedLastEventId: `${events[1]?.id}` };
    const later: AppendRequest = { ...next, events: newEvents(1) };
    await store.append(later);
    expect(reads).to.equal(1);
    // A repeat is not what comes next.
    expect((await store.append(later)).alreadyAppended).to.equal(true);
    expect(reads).to.equal(2);
    world.proxy.cut();
    await world.proxy.untilConnections(0);
    await store.append({ stream, expectedRevision: 2, events: newEvents(1) });
    expect(reads).to.be.greaterThan(2);
    world.onNextAppend(() => 'fail');
    const failing: AppendRequest = { stream, expectedRevision: 3, events: newEvents(1) };
    expect(await failureOf(store.append(failing))).to.be.instanceOf(OutcomeUnknownError);
    const before = reads;
    await store.append(failing);
    expect(reads).to.equal(before + 1);
  });

  for (const [when, putBack] of [
    [
      'while the server was away',
      async (world: World, rewind: () => void) => {
        await world.stopServer();
        rewind();
        await world.startServer();
      },
    ],
    ['under a server that stands', async (_world: World, rewind: () => void) => rewind()],
  ] as const) {
    it(`is refused if the log was put back and written anew ${when}`, async () => {
      const world = await makeWorld();
      const store = world.open();
      const { stream, events } = request();
      await store.append({ stream, expectedRevision: 'noStream', events });
      await putBack(world, () => {
        world.log.rewindTo(1);
        world.log.append({ stream, expectedRevision: 0, events: newEvents(1) });
      });
      const append = {
        stream,
        expectedRevision: 1,
        expectedLastEventId: `${events[1]?.id}`,
        events: newEvents(1),
      };
      const refused = () => failureOf(onceServed(() => store.append(append)));
      expect(await refused()).to.be.instanceOf(LogRewrittenError);
      expect(await refused()).to.be.instanceOf(LogRewrittenError);
      expect(await allOf(world.served.readStream(stream))).to.have.length(2);
    });
  }

  it('works again after a restart of the server, through the same store', async () => {
    const world = await makeWorld();
    const store = world.open();
    await store.append(request());
    await world.stopServer();
    const append = request();
    expect(await failureOf(store.append(append))).to.be.instanceOf(StoreUnreachableError);
    await world.startServer();
    expect((await onceServed(() => store.append(append))).revision).to.equal(1);
  });

  it('is not written when no server can be found, and the next one finds the server', async () => {
    const world = await makeWorld();
    for (const nodes of [
      `esdb+discover://127.0.0.1:${world.proxy.port}`,
      `esdb://127.0.0.1:${world.proxy.port},localhost:${world.proxy.port}`,
    ]) {
      await world.proxy.goAway();
      const settings = 'tls=false&maxDiscoverAttempts=1&discoveryInterval=1';
      const store = world.open({ connectionString: `${nodes}?${settings}` });
      const append = request();
      expect(await failureOf(store.append(append))).to.be.instanceOf(StoreUnreachableError);
      await world.proxy.comeBack();
      expect((await onceServed(() => store.append(append))).alreadyAppended).to.equal(false);
    }
  });

  it('is refused with the actual revision, whatever the connection string asks for', async () => {
    const world = await makeWorld();
    const store = world.open({
      connectionString: `esdb://127.0.0.1:${world.port}?tls=false&throwOnAppendFailure=false`,
    });
    const stream = streamName();
    await store.append({ stream, expectedRevision: 'noStream', events: newEvents(42) });
    // Between the look and the append another client writes, so the server itself refuses.
    world.onNextAppend(() => {
      world.log.append({ stream, expectedRevision: 41, events: newEvents(1) });
    });
    const error = await failureOf(store.append({ stream, expectedRevision: 41, events: newEvents(1) }));
    expect(error).to.be.instanceOf(WrongExpectedRevisionError);
    expect(error).to.include({ expected: 41, actual: 42 });
  });

  for (const [skew, clockAheadMs] of [
    ['an hour behind', -3_600_000],
    ['an hour ahead', 3_600_000],
  ] as const) {
    it(`does not depend on the clocks: the server's is ${skew}`, async () => {
      const gateway = await startStoreGatewayProcess({ clockAheadMs });
      const store = createEventStoreDbEventStore({ connectionString: gateway.connectionString });
      try {
        expect((await store.append(request())).alreadyAppended).to.equal(false);
      } finally {
        await store.close();
        await gateway.stop();
      }
    });
  }

  it('with long types is measured as the server measures it', async () => {
    const world = await makeWorld();
    const store = world.open();
    const events = Array.from({ length: 1_100 }, () => newEvent({ type: 'T'.repeat(800) }));
    const tooLarge = store.append({ ...request(), events });
    expect(await failureOf(tooLarge)).to.be.instanceOf(EventTooLargeError);
    expect(world.log.events).to.deep.equal([]);
  });

  it("that is not allowed fails with the server's reason", async () => {
    const world = await makeWorld({ allowWrites: false });
    const error = await failureOf(world.open().append(request()));
    expect(error).to.be.instanceOf(StoreUnreachableError);
    expect(String(error)).to.include('reading only');
  });

  it('leaves no connection behind when the store closes', async () => {
    const world = await makeWorld();
    const store = world.open();
    await Promise.all(Array.from({ length: 200 }, () => store.append(request())));
    expect(world.proxy.connections()).to.equal(1);
    await store.close();
    await world.proxy.untilConnections(0);
  });
});
