import { createConsumersTable } from '@coffer/consumers';
import { migrate } from '@coffer/database';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { CHAIN_WORKERS } from './chainWorkerRole.ts';
import { chainWorkerMigrations } from './signingPause.ts';

describe('the consumers of an installation whose environments shared one', () => {
  let database: TestDatabase;
  before(async () => {
    database = await createTestDatabase({
      name: 'chainworkers',
      prepare: (pool) => migrate(pool, [chainWorkerMigrations]),
    });
  });
  after(() => database.drop());

  it('begin where that was, and it is gone', async () => {
    const { pool } = database;
    await createConsumersTable(pool, 'records');
    await pool.query(`insert into records.consumers (name, position, event_id, ordinal, owner)
                      values ('chainWorker', '42', 'event 42', 40, 'somebody'), ('holds', '50', 'event 50', 48, null)`);
    await pool.query(
      `delete from records.knex_migrations where name like '0004-a-consumer-per-environment.sql%'`,
    );
    await migrate(pool, [chainWorkerMigrations]);
    const { rows } = await pool.query(
      'select name, position, event_id, ordinal::integer, owner from records.consumers order by name',
    );
    const place = { position: '42', event_id: 'event 42', ordinal: 40, owner: null };
    expect(rows).to.deep.equal([
      { name: CHAIN_WORKERS.live, ...place },
      { name: CHAIN_WORKERS.test, ...place },
      { name: 'holds', position: '50', event_id: 'event 50', ordinal: 48, owner: null },
    ]);
  });
});
