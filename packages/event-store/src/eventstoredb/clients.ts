/** The clients in use: always of the leading node, replaced when another node leads or the connection is unusable. */
import type { EventStoreDBClient } from '@eventstore/db-client';
import { type Address, type Node, nameOf } from './address.ts';
import type { Cluster } from './cluster.ts';
import { isDoubtful, leaderNamedBy, spoilsClient } from './failures.ts';
import { type Guarded, guarded } from './guardedClient.ts';

export interface Connection {
  readonly client: EventStoreDBClient;
  readonly openBatch: Guarded['openBatch'];
  readonly node: Node;
  /** Aborts when another node leads or none is found: waiting here could take for ever. */
  readonly left: AbortSignal;
}

export interface Clients {
  /** To the leader. Throws `StoreAbsentError`. */
  current(): Promise<Connection>;
  /** Nothing arrived for a while: the next caller gets a new connection, and all nodes are asked who leads. */
  silent(connection: Connection): void;
  /** Learns from a failure about the connection and the leader. */
  failed(connection: Connection, error: unknown): void;
  /** The same, if the next caller needs a new connection in any case. */
  broken(connection: Connection, error: unknown): void;
  close(): Promise<void>;
}

interface Held {
  readonly connection: Connection;
  readonly end: Guarded['end'];
}

export function createClients(address: Address, cluster: Cluster): Clients {
  let held: Held | undefined;
  /** The node in use; callers on a connection given up earlier learn of its end as well. */
  let used: { readonly node: Node; readonly leaving: AbortController } | undefined;
  const ending = new Set<Promise<void>>();

  const letGo = (): void => {
    if (!held) return;
    const ended = held.end().finally(() => ending.delete(ended));
    ending.add(ended);
    held = undefined;
  };
  const leave = (): void => {
    letGo();
    used?.leaving.abort();
    used = undefined;
  };
  const leaveUnless = (leader: Node | undefined): void => {
    if (used && (!leader || nameOf(used.node) !== nameOf(leader))) leave();
  };
  cluster.onMoved(leaveUnless);

  const hold = (node: Node): Held => {
    used ??= { node, leaving: new AbortController() };
    const { client, openBatch, end } = guarded(address.of(node));
    return { connection: { client, openBatch, node, left: used.leaving.signal }, end };
  };
  const discard = (connection: Connection): void => {
    if (held?.connection === connection) letGo();
  };

  const failed = (connection: Connection, error: unknown): void => {
    const named = leaderNamedBy(error);
    if (named) {
      cluster.told(named);
      return;
    }
    if (spoilsClient(error)) discard(connection);
    if (isDoubtful(error)) cluster.doubt(connection.node);
  };

  return {
    async current() {
      const node = await cluster.leader();
      leaveUnless(node);
      held ??= hold(node);
      return held.connection;
    },
    silent(connection) {
      discard(connection);
      cluster.doubt(connection.node);
    },
    failed,
    broken(connection, error) {
      discard(connection);
      failed(connection, error);
    },
    async close() {
      await held?.connection.client.dispose();
      leave();
      await Promise.all(ending);
    },
  };
}
