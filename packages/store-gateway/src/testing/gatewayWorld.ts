/** A gateway with real clients for specs, and what a subscriber receives. */
import type { EventStore } from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { EventStoreDBClient } from '@eventstore/db-client';
import { createStoreGateway, type StoreGatewayOptions } from '../index.ts';

export const credentials = { user: 'coffer', password: 'the password of these specs' };

export interface World {
  readonly store: EventStore;
  readonly port: number;
  readonly client: EventStoreDBClient;
  /** Another client of the same gateway. */
  another(parameters?: string, userInfo?: string): EventStoreDBClient;
  /** A client that asks by gossip where the leader is. */
  discovering(): EventStoreDBClient;
  stopGateway(): Promise<void>;
  close(): Promise<void>;
}

/** A gateway over a store in memory, unless the options have one, which its maker closes. */
export async function openWorld(options: Partial<StoreGatewayOptions> = {}): Promise<World> {
  const store = options.store ?? createMemoryEventStore();
  const gateway = await createStoreGateway({
    store,
    host: '127.0.0.1',
    port: 0,
    credentials,
    allowWrites: true,
    ...options,
  });
  const clients: EventStoreDBClient[] = [];
  const connect = (address: string): EventStoreDBClient => {
    const client = EventStoreDBClient.connectionString(address);
    clients.push(client);
    return client;
  };
  const another = (parameters = 'tls=false', userInfo = '') =>
    connect(`esdb://${userInfo}127.0.0.1:${gateway.port}?${parameters}`);
  return {
    store,
    port: gateway.port,
    client: another(),
    another,
    discovering: () => connect(`esdb+discover://127.0.0.1:${gateway.port}?tls=false&maxDiscoverAttempts=1`),
    stopGateway: gateway.stop,
    async close() {
      await Promise.all(clients.map((client) => client.dispose()));
      await gateway.stop();
      if (!options.store) await store.close();
    },
  };
}
