import type { EventStore } from '@coffer/event-store';
import { createPostgresEventStore, migrateLog } from '@coffer/event-store/postgres';
import { createTestDatabase } from '@coffer/testing';
import { storeGatewayContract } from './storeGateway.contract.ts';

storeGatewayContract('postgres', async (): Promise<EventStore> => {
  const database = await createTestDatabase({ name: 'log', prepare: migrateLog });
  const { connectionString } = database;
  const store = createPostgresEventStore({ connectionString, applicationName: 'spec' });
  return {
    ...store,
    async close() {
      await store.close();
      await database.drop();
    },
  };
});
