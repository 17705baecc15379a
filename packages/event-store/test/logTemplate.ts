/** A test database with the schema `log` in it. */
import { createPool } from '@coffer/database';
import { migrateLog } from '../src/postgres/index.ts';

export const logTemplate = {
  name: 'log',
  async prepare(connectionString: string): Promise<void> {
    const pool = createPool({
      connectionString,
      applicationName: 'template',
      onIdleError: (error) => {
        throw error;
      },
    });
    await migrateLog(pool);
    await pool.end();
  },
};
