import { createStoreGateway } from '@coffer/store-gateway';
import { eventStoreContract } from '../eventStore.contract.ts';
import { createMemoryEventStore, createMemoryLog } from '../memory/index.ts';
import type { EventStore, Position } from '../port.ts';
import { createEventStoreDbEventStore } from './eventStoreDbEventStore.ts';

eventStoreContract('eventstoredb', async () => {
  const log = createMemoryLog();
  const served = createMemoryEventStore({ log });
  const gateway = await createStoreGateway({
    store: served,
    host: '127.0.0.1',
    port: 0,
    credentials: { user: 'coffer', password: 'secret' },
    allowWrites: true,
  });
  const connectionString = `esdb://127.0.0.1:${gateway.port}?tls=false`;
  const stores: EventStore[] = [];
  const open = (options: { readonly maxQueuedAppends?: number } = {}) => {
    const store = createEventStoreDbEventStore({ connectionString, ...options });
    stores.push(store);
    return store;
  };
  return {
    store: open(),
    another: open,
    positionBeyondEnd: '1000000/1000000' as Position,
    refusesOtherJsonTexts: true,
    tellsSimultaneousRetriesApart: false,
    async rewindTo(length) {
      log.rewindTo(length);
    },
    async close() {
      await Promise.all(stores.map((store) => store.close()));
      await gateway.stop();
      await served.close();
    },
  };
});
