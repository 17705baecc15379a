/** A database with the tables of this context, and an app to sign in to. */
import { createPool, migrate, type Pool } from '@coffer/database';
import type { AppPlace } from '@coffer/kernel';
import { authMigrations } from '../migrations.ts';

export const PLACE: AppPlace = { appId: 'app_1', scopeId: 'scp_1', environment: 'test' };

/** For `createTestDatabase`. */
export const authTemplate = {
  name: 'auth records',
  prepare: async (connectionString: string): Promise<void> => {
    const pool = openPool(connectionString);
    await migrate(pool, [authMigrations]);
    await pool.end();
  },
};

export function openPool(connectionString: string): Pool {
  return createPool({
    connectionString,
    applicationName: 'auth spec',
    onIdleError: (error) => {
      throw error;
    },
  });
}
