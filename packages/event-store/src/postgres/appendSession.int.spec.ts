import { requireSupportedPostgres } from '@coffer/database';
import { createTestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { APPEND_SESSION } from './appendSession.ts';

describe('the append connection', () => {
  it('ends the transaction of a frozen client, and waits for the disk whatever the default', async () => {
    const database = await createTestDatabase();
    const client = await database.pool.connect();
    await client.query('set synchronous_commit = off');
    await client.query(APPEND_SESSION);
    const { rows } = await client.query(
      `select current_setting('synchronous_commit') as durable, current_setting('transaction_timeout', true) as limit`,
    );
    client.release();
    const { major } = await requireSupportedPostgres(database.pool);
    expect(rows).to.deep.equal([{ durable: 'on', limit: major >= 17 ? '10s' : null }]);
    await database.drop();
  });
});
