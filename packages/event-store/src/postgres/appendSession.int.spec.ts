import { requireSupportedPostgres } from '@coffer/database';
import { createTestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { withPool } from '../testing/logDatabase.ts';
import { APPEND_SESSION } from './appendSession.ts';

describe('the append connection', () => {
  it('ends the transaction of a frozen client, and waits for the disk whatever the default', async () => {
    const database = await createTestDatabase();
    await withPool(database.connectionString, async (pool) => {
      const client = await pool.connect();
      await client.query('set synchronous_commit = off');
      await client.query(APPEND_SESSION);
      const { rows } = await client.query(
        `select current_setting('synchronous_commit') as durable, current_setting('transaction_timeout', true) as limit`,
      );
      client.release();
      const { major } = await requireSupportedPostgres(pool);
      expect(rows).to.deep.equal([{ durable: 'on', limit: major >= 17 ? '10s' : null }]);
    });
    await database.drop();
  });
});
