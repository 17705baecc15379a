/**
 * A cluster of three nodes that loses its leader: killed, or frozen, so that it accepts connections and stays silent.
 * Whichever node leads serves the log; the others refuse and name the leader.
 */

import { createStoreGateway } from '@coffer/store-gateway';
import { failureOf } from '@coffer/testing';
import { expect } from 'chai';
import { StoreAbsentError } from '../errors.ts';
import { createMemoryEventStore } from '../memory/index.ts';
import type { EventStore } from '../port.ts';
import { type Acknowledged, appendUntilKnown, faultsIn } from '../testing/acknowledged.ts';
import { CREDENTIALS, onceServed } from '../testing/eventStoreDbWorld.ts';
import { allOf, newEvents, streamName } from '../testing/events.ts';
import { createFaultProxy, type FaultProxy } from '../testing/faultProxy.ts';
import { follow } from '../testing/follow.ts';
import { startFollowerNode } from '../testing/followerNode.ts';
import { createEventStoreDbEventStore } from './index.ts';

const NEVER_MS = 1_000_000;

interface ScriptedCluster {
  /** The network in front of each node. */
  readonly nodes: readonly [FaultProxy, FaultProxy, FaultProxy];
  readonly served: EventStore;
  readonly store: EventStore;
  /** From now on this node leads, and the nodes name it. */
  elect(node: FaultProxy): void;
  close(): Promise<void>;
}

async function openCluster(): Promise<ScriptedCluster> {
  const served = createMemoryEventStore();
  let leader: FaultProxy | undefined;
  const nodes: FaultProxy[] = [];
  const leaderPort = () => leader?.port ?? 0;
  const otherPorts = () => nodes.map(({ port }) => port);
  const followers = await Promise.all([1, 2, 3].map(() => startFollowerNode({ leaderPort, otherPorts })));
  const common = { store: served, host: '127.0.0.1', port: 0, credentials: CREDENTIALS, allowWrites: true };
  const gateway = await createStoreGateway(common);
  for (const { port } of followers) nodes.push(await createFaultProxy(port));
  const elect = (node: FaultProxy): void => {
    leader = node;
    node.pointTo(gateway.port);
  };
  const [first, second, third] = nodes;
  if (!first || !second || !third) throw new Error('A cluster has three nodes.');
  elect(first);
  const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const store = createEventStoreDbEventStore({
    connectionString: `esdb://${hosts}?tls=false&keepAliveInterval=${NEVER_MS}`,
    // None of these expires: callers proceed because another leader was found.
    appendTimeoutMs: NEVER_MS,
    readSilenceMs: NEVER_MS,
    watchMs: NEVER_MS,
  });
  return {
    nodes: [first, second, third],
    served,
    store,
    elect,
    async close() {
      for (const node of nodes) node.release();
      await store.close();
      for (const node of nodes) await node.close();
      for (const follower of followers) follower.stop();
      await gateway.stop();
      await served.close();
    },
  };
}

const losses: Readonly<Record<string, (node: FaultProxy) => void | Promise<void>>> = {
  'is killed': (node) => node.goAway(),
  'is frozen before it is asked': (node) => node.holdRequests(),
  'is frozen before it answers': (node) => node.holdReplies(),
};

const LANES = 8;
const APPENDS_A_LANE = 30;

describe('a cluster of EventStoreDB nodes whose leader', () => {
  let cluster: ScriptedCluster;
  beforeEach(async () => {
    cluster = await openCluster();
  });
  afterEach(() => cluster.close());

  const request = () =>
    ({ stream: streamName(), expectedRevision: 'noStream', events: newEvents(1) }) as const;

  for (const [loss, lose] of Object.entries(losses)) {
    it(`${loss} is abandoned for the new leader, and each append is written once`, async () => {
      const { nodes, served, store, elect } = cluster;
      const [first, second] = nodes;
      const reader = follow(store);
      const acknowledged: Acknowledged[] = [];
      let isLost = false;
      const write = async (): Promise<void> => {
        const place = { stream: streamName(), last: -1 };
        for (let count = 0; count < APPENDS_A_LANE; count++) {
          acknowledged.push(await appendUntilKnown(store, place, 1 + (count % 3)));
          if (isLost || acknowledged.length < (LANES * APPENDS_A_LANE) / 2) continue;
          isLost = true;
          await lose(first);
          elect(second);
        }
      };
      await Promise.all(Array.from({ length: LANES }, write));
      const events = await allOf(served.readAll());
      expect(faultsIn(events, acknowledged)).to.deep.equal([]);
      expect(acknowledged).to.have.length(LANES * APPENDS_A_LANE);
      // Subscribers have left the lost node as well, and miss nothing.
      await reader.until(() => reader.ids().length >= events.length);
      expect(reader.ids()).to.deep.equal(events.map(({ id }) => id));
      await reader.stop();
    });
  }

  it('is not yet elected fails all callers at once with one search, and serves them once it is', async () => {
    const { nodes, store, elect } = cluster;
    const [first, second] = nodes;
    await store.append(request());
    // The others still name the frozen node.
    first.holdRequests();
    const unanswered = store.append(request());
    unanswered.catch(() => undefined);
    const refused = async () => {
      const errors = await Promise.all(Array.from({ length: 50 }, () => failureOf(store.append(request()))));
      return new Set(errors);
    };
    let errors = await refused();
    while (![...errors].every((error) => error instanceof StoreAbsentError)) errors = await refused();
    // All are told the result of the same search.
    expect(errors.size).to.equal(1);
    expect(String([...errors][0])).to.include('No node leads');
    expect(await failureOf(store.head())).to.be.instanceOf(StoreAbsentError);

    elect(second);
    await onceServed(() => store.head());
    const results = await Promise.all(Array.from({ length: 50 }, () => store.append(request())));
    expect(results.every(({ alreadyAppended }) => !alreadyAppended)).to.equal(true);
  });

  it('is away with all other nodes serves again when they are back', async () => {
    const { nodes, store } = cluster;
    await store.append(request());
    for (const node of nodes) await node.goAway();
    const append = request();
    let error = await failureOf(store.append(append));
    while (!(error instanceof StoreAbsentError)) error = await failureOf(store.append(append));
    for (const node of nodes) await node.comeBack();
    expect((await onceServed(() => store.append(append))).alreadyAppended).to.equal(false);
  });

  it('is looked for while the store closes leaves nothing behind', async () => {
    const { nodes, store } = cluster;
    await store.append(request());
    for (const node of nodes) node.holdRequests();
    const reads = Array.from({ length: 5 }, () => failureOf(store.head()));
    let error = await failureOf(store.append(request()));
    while (!(error instanceof StoreAbsentError)) error = await failureOf(store.append(request()));
    await store.close();
    await Promise.all(reads);
    for (const node of nodes) {
      node.cut();
      await node.untilConnections(0);
    }
  });
});
