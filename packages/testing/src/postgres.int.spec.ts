import type { Pool } from '@coffer/database';
import { expect } from 'chai';
import pg from 'pg';
import { failureOf } from './failures.ts';
import { createTestDatabase } from './postgres.ts';

async function query(connectionString: string, text: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

describe('a test database', () => {
  it('is a copy of its template, which is prepared once', async () => {
    let preparations = 0;
    const template = {
      name: 'postgres.int.spec',
      prepare: async (pool: Pool) => {
        preparations += 1;
        await pool.query('create table things as select 7 as id');
      },
    };
    const [first, second] = await Promise.all([createTestDatabase(template), createTestDatabase(template)]);
    await query(first.connectionString, 'delete from things');
    expect(await query(second.connectionString, 'select id from things')).to.deep.equal([{ id: 7 }]);
    expect(preparations).to.equal(1);
    await first.drop();
    await second.drop();
  });

  it('is written durably, as in production', async () => {
    const database = await createTestDatabase();
    expect(await query(database.connectionString, 'show fsync')).to.deep.equal([{ fsync: 'on' }]);
    await database.drop();
  });

  it('fails its drop if the spec has left a connection open, and is dropped all the same', async () => {
    const database = await createTestDatabase();
    const forgotten = new pg.Client({
      connectionString: database.connectionString,
      application_name: 'forgotten',
    });
    forgotten.on('error', () => {});
    await forgotten.connect();
    const failure = await failureOf(database.drop());
    expect(failure.message).to.contain('forgotten');
    const other = await createTestDatabase();
    const name = new URL(database.connectionString).pathname.slice(1);
    expect(
      await query(other.connectionString, `select 1 from pg_database where datname = '${name}'`),
    ).to.deep.equal([]);
    await other.drop();
  });
});
