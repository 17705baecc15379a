import { createPool } from '@coffer/database';
import { createTestDatabase } from '@coffer/testing';
import { eventStoreContract } from '../eventStore.contract.ts';
import type { EventStore, Position } from '../port.ts';
import { createPostgresEventStore, migrateLog } from './postgresEventStore.ts';

export const logTemplate = {
  name: 'log',
  async prepare(connectionString: string): Promise<void> {
    const pool = createPool({
      connectionString,
      applicationName: 'spec',
      onIdleError: (error) => {
        throw error;
      },
    });
    await migrateLog(pool);
    await pool.end();
  },
};

eventStoreContract('postgres', async () => {
  const database = await createTestDatabase(logTemplate);
  const stores: EventStore[] = [];
  const open = (options: { readonly maxQueuedAppends?: number } = {}) => {
    const { connectionString } = database;
    const store = createPostgresEventStore({ connectionString, applicationName: 'spec', ...options });
    stores.push(store);
    return store;
  };
  return {
    store: open(),
    another: open,
    positionBeyondEnd: '1000000' as Position,
    async close() {
      await Promise.all(stores.map((store) => store.close()));
      await database.drop();
    },
  };
});
