/** What a user of PostgreSQL may do with the log, asked without a trace. */
import { type Pool, withPool } from '@coffer/database';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { logRights } from '../logRights.ts';
import { logTemplate } from '../testing/logDatabase.ts';
import { insertRight } from './insertRight.ts';
import { createPostgresEventStore } from './postgresEventStore.ts';

describe('the user of a log in PostgreSQL', () => {
  let database: TestDatabase;
  before(async () => {
    database = await createTestDatabase(logTemplate);
  });
  after(() => database.drop());

  async function rightsAt(connectionString: string) {
    const store = createPostgresEventStore({ connectionString, applicationName: 'spec' });
    const rights = await logRights(store).finally(() => store.close());
    return [...rights, (await withPool(connectionString, insertRight)) ?? expect.fail('There is a log.')];
  }

  async function withReader(use: (pool: Pool, address: string) => Promise<void>): Promise<void> {
    const { pool } = database;
    const role = `reader_${process.pid}`;
    const url = new URL(database.connectionString);
    [url.username, url.password] = [role, 'reader'];
    await pool.query(`create role ${role} login password 'reader'; grant usage on schema log to ${role}`);
    try {
      await use(pool, url.href);
      expect((await pool.query('select 1 from log.events')).rowCount).to.equal(0);
    } finally {
      await pool.query(`drop owned by ${role}; drop role ${role}`);
    }
  }

  it('who owns it may do everything', async () => {
    const rights = await rightsAt(database.connectionString);
    expect(rights.filter(({ given }) => !given)).to.deep.equal([]);
  });

  it('is told what is missing and how it is given, and nothing is written', () =>
    withReader(async (pool, address) => {
      const given = async () => (await rightsAt(address)).map(({ right, given }) => [right, given]);
      const none = await rightsAt(address);
      expect(await given()).to.deep.include.members([
        ['read the log as a whole', false],
        ['insert into log.events', false],
      ]);
      expect(none[0]?.reason).to.include('DATABASE_URL').and.to.include('permission denied');
      await pool.query(`grant select on all tables in schema log to reader_${process.pid}`);
      expect(await given()).to.deep.include.members([
        ['read the log as a whole', true],
        ['insert into log.events', false],
      ]);
    }));

  it('has no log to insert into before the first start', async () => {
    const empty = await createTestDatabase();
    expect(await insertRight(empty.pool)).to.equal(undefined);
    await empty.drop();
  });
});
