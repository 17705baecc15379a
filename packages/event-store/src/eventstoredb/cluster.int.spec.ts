/** Nodes that lead and nodes that do not; passwords and certificates. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { selfSignedCertificate } from '@coffer/store-gateway';
import { failureOf } from '@coffer/testing';
import { expect } from 'chai';
import { StoreUnreachableError } from '../errors.ts';
import type { AppendRequest } from '../port.ts';
import { type Acknowledged, appendUntilKnown, faultsIn } from '../testing/acknowledged.ts';
import { CREDENTIALS, openWorld, type World, type WorldOptions } from '../testing/eventStoreDbWorld.ts';
import { allOf, idsOf, newEvents, streamName } from '../testing/events.ts';
import { follow } from '../testing/follow.ts';
import { type FollowerNode, startFollowerNode } from '../testing/followerNode.ts';

const request = (): AppendRequest => ({
  stream: streamName(),
  expectedRevision: 'noStream',
  events: newEvents(2),
});

describe('a cluster of EventStoreDB nodes', () => {
  const worlds: World[] = [];
  const nodes: FollowerNode[] = [];
  const makeWorld = async (options: WorldOptions = {}): Promise<World> => {
    const world = await openWorld(options);
    worlds.push(world);
    return world;
  };
  const follower = async (leaderPort: () => number, claimsToLead = false): Promise<FollowerNode> => {
    const node = await startFollowerNode({ leaderPort, claimsToLead });
    nodes.push(node);
    return node;
  };
  afterEach(async () => {
    for (const world of worlds.splice(0)) await world.close();
    for (const node of nodes.splice(0)) node.stop();
  });

  it('is written and read at the leader, which a follower has named', async () => {
    const world = await makeWorld();
    const node = await follower(() => world.port);
    const store = world.open({ connectionString: `esdb://127.0.0.1:${node.port}?tls=false` });
    const append = request();
    expect((await store.append(append)).alreadyAppended).to.equal(false);
    expect(idsOf(await allOf(store.readStream(append.stream)))).to.deep.equal(idsOf(append.events));
    expect(node.refusals()).to.equal(1);

    const reader = follow(store);
    await reader.until(() => reader.told.includes('caughtUp'));
    expect(reader.ids()).to.deep.equal(idsOf(append.events));
    await reader.stop();
    // What one caller learnt, all know.
    expect(node.refusals()).to.equal(1);
  });

  it('may have its leader step down while in use', async () => {
    const world = await makeWorld();
    const node = await follower(() => world.port);
    const store = world.open();
    const first = request();
    await store.append(first);
    world.proxy.pointTo(node.port);
    world.proxy.cut();
    const append: AppendRequest = { stream: first.stream, expectedRevision: 1, events: newEvents(1) };
    expect((await store.append(append)).revision).to.equal(2);
    expect(node.refusals()).to.be.at.least(1);
  });

  it('may have its leader step down with many appends under way: none is lost, none doubled', async () => {
    const world = await makeWorld();
    const node = await follower(() => world.port);
    const store = world.open();
    const places = Array.from({ length: 200 }, () => ({ stream: streamName(), last: -1 }));
    const acknowledged: Acknowledged[] = [];
    const append = async (place: (typeof places)[number]) =>
      void acknowledged.push(await appendUntilKnown(store, place, 1));
    await Promise.all(places.map(append));
    world.onNextAppend(() => {
      world.proxy.pointTo(node.port);
      world.proxy.cut();
    });
    await Promise.all(places.map(append));
    expect(node.refusals()).to.be.at.least(1);
    expect(acknowledged).to.have.length(400);
    expect(faultsIn(await allOf(world.served.readAll()), acknowledged)).to.deep.equal([]);
  });

  it('whose nodes name one another as leader accepts nothing, and fails in time', async () => {
    const world = await makeWorld();
    const one: FollowerNode = await follower(() => other.port);
    const other = await follower(() => one.port);
    const store = world.open({ connectionString: `esdb://127.0.0.1:${one.port}?tls=false` });
    expect(await failureOf(store.append(request()))).to.be.instanceOf(StoreUnreachableError);
    expect(one.refusals() + other.refusals()).to.be.within(2, 20);
  });

  it('is found through any of its nodes', async () => {
    const world = await makeWorld();
    const gone = await makeWorld();
    await gone.stopServer();
    const store = world.open({
      connectionString: `esdb://127.0.0.1:${gone.port},127.0.0.1:${world.proxy.port}?tls=false`,
    });
    expect((await store.append(request())).revision).to.equal(1);
  });

  it('works over TLS with a password, and refuses a wrong one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'coffer-spec-'));
    try {
      const tls = await selfSignedCertificate(['localhost'], new Date());
      const world = await makeWorld({ tls });
      const file = join(folder, 'ca.pem');
      await writeFile(file, tls.certificate);
      const at = (password: string) =>
        `esdb://${CREDENTIALS.user}:${encodeURIComponent(password)}@localhost:${world.proxy.port}?tlsCAFile=${encodeURIComponent(file)}`;
      const append = request();
      const store = world.open({ connectionString: at(CREDENTIALS.password) });
      expect((await store.append(append)).revision).to.equal(1);
      const reader = follow(store);
      await reader.until(() => reader.ids().length === 2);
      await reader.stop();

      const wrong = world.open({ connectionString: at('another password') });
      const error = await failureOf(wrong.append(request()));
      expect(error).to.be.instanceOf(StoreUnreachableError);
      expect(String(error)).to.include('password');
      expect(world.log.events).to.have.length(2);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
