import { createPool } from '@coffer/database';
import type { EventStore } from '@coffer/event-store';
import { createPostgresEventStore, migrateLog } from '@coffer/event-store/postgres';
import { createTestDatabase } from '@coffer/testing';
import { storeGatewayContract } from './storeGateway.contract.ts';

storeGatewayContract('postgres', async (): Promise<EventStore> => {
  const database = await createTestDatabase({ name: 'log', prepare });
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

async function prepare(connectionString: string): Promise<void> {
  const pool = createPool({ connectionString, applicationName: 'spec', onIdleError: () => undefined });
  try {
    await migrateLog(pool);
  } finally {
    await pool.end();
  }
}
