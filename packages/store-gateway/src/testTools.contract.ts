/** Gateways and clients for specs, which close what they open. */

import type { EventStore } from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { EventStoreDBClient } from '@eventstore/db-client';
import { createStoreGateway, type StoreGatewayOptions } from './index.ts';

export const credentials = { user: 'coffer', password: 'the password of these specs' };

export interface World {
  readonly store: EventStore;
  readonly client: EventStoreDBClient;
  /** Of the same gateway. */
  anotherClient(parameters?: string): EventStoreDBClient;
  readonly port: number;
  /** Stops the gateway while clients are still there. */
  stopGateway(): Promise<void>;
  close(): Promise<void>;
}

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
  const anotherClient = (parameters = 'tls=false'): EventStoreDBClient => {
    const client = EventStoreDBClient.connectionString(`esdb://127.0.0.1:${gateway.port}?${parameters}`);
    clients.push(client);
    return client;
  };
  return {
    store,
    client: anotherClient(),
    anotherClient,
    port: gateway.port,
    stopGateway: gateway.stop,
    async close() {
      await Promise.all(clients.map((client) => client.dispose()));
      await gateway.stop();
      if (!options.store) await store.close();
    },
  };
}
