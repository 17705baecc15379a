/** Migrations on a real database, when processes die, wait or come from another release. */
import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTestDatabase, failureOf, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { type Migrations, migrate, NewerDatabaseError } from './migrate.ts';
import { createPool, type Pool } from './pool.ts';
import { dumpSchemas } from './schemaDump.ts';
import type { MortalMigration } from './testing/mortalMigration.ts';

const FIRST = `create table one.wares (name text primary key);\ninsert into one.wares values ('what?');\n`;
const SECOND = 'alter table one.wares add column price numeric;\n';

describe('migrations', () => {
  let folder: string;
  let parts: readonly Migrations[];
  let database: TestDatabase;
  let pool: Pool;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coffer-migrations-'));
    parts = [
      { schema: 'one', folder: join(folder, 'wares') },
      { schema: 'two', folder: join(folder, 'shelves') },
      { schema: 'one', folder: join(folder, 'buyers') },
    ];
    await write('wares/0001-wares.sql', FIRST);
    await write('wares/0002-prices.sql', SECOND);
    await write('buyers/0001-buyers.sql', 'create table one.buyers (ware text references one.wares);\n');
    await write('shelves/0001-shelves.sql', 'create table two.shelves (shelf integer);\n');
    database = await createTestDatabase();
    pool = database.pool;
  });
  afterEach(async () => {
    await database.drop();
    await rm(folder, { recursive: true });
  });

  const open = (options = '') =>
    createPool({
      connectionString: `${database.connectionString}${options}`,
      applicationName: 'spec',
      onIdleError() {},
    });
  async function write(path: string, sql: string): Promise<void> {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), sql);
  }
  const recorded = async (schema = 'one') => {
    const { rows } = await pool.query<{ name: string }>(
      `select split_part(name, ' ', 1) as name from ${schema}.knex_migrations order by id`,
    );
    return rows.map(({ name }) => name);
  };
  const isLocked = async () => {
    const { rows } = await pool.query('select is_locked from one.knex_migrations_lock');
    return rows.map((row) => row.is_locked);
  };
  const shape = () => dumpSchemas(pool, ['one', 'two']);

  /** The state in which releases before knex left the database, after the first file. */
  async function beAsTheFormerRelease(): Promise<void> {
    const sha256 = createHash('sha256').update(FIRST).digest('hex');
    await pool.query(
      `create schema one;
       create table one.migrations
         (name text primary key, sha256 text not null, applied_at timestamptz not null default now());
       insert into one.migrations values ('0001-wares.sql', '${sha256}', '2026-01-02T03:04:05Z');
       ${FIRST}`,
    );
  }

  it('are applied once each, in the order of the parts and of their numbers', async () => {
    await migrate(pool, parts);
    await migrate(pool, parts);
    expect(await recorded()).to.deep.equal(['0001-wares.sql', '0002-prices.sql', '0001-buyers.sql']);
    expect(await recorded('two')).to.deep.equal(['0001-shelves.sql']);
  });

  it('are applied once when several services start at the same time', async () => {
    const pools = Array.from({ length: 4 }, () => open());
    await Promise.all(pools.map((each) => migrate(each, parts)));
    await Promise.all(pools.map((each) => each.end()));
    expect(await recorded()).to.have.length(3);
  });

  it('keep everything before a failed one, and nothing of it', async () => {
    await write('wares/0003-broken.sql', 'create table one.half (a text);\nselect 1 from one.nothing;\n');
    expect(await failureOf(migrate(pool, parts))).to.have.property('code', '42P01');
    expect(await recorded()).to.deep.equal(['0001-wares.sql', '0002-prices.sql']);
    expect(await shape()).not.to.include('half');
    await write('wares/0003-broken.sql', 'create table one.whole (a text);\n');
    await migrate(pool, parts);
    expect(await recorded()).to.have.length(4);
  });

  it('are refused when one was changed after it ran', async () => {
    await migrate(pool, parts);
    await write('wares/0001-wares.sql', `${FIRST}-- changed\n`);
    const { message } = await failureOf(migrate(pool, parts));
    expect(message).to.include('Migration one/0001-wares.sql was changed after it ran.');
  });

  it('from a later release are refused, and nothing is changed', async () => {
    await migrate(pool, parts);
    await write('wares/0003-not-there-yet.sql', 'select 1;\n');
    const failure = await failureOf(migrate(pool, parts.slice(0, 2)));
    expect(failure).to.be.instanceOf(NewerDatabaseError);
    expect(failure.message).to.include('does not know one/0001-buyers.sql');
    expect(await recorded()).to.have.length(3);
  });

  it('free a knex lock that a dead process left behind', async () => {
    await migrate(pool, parts);
    await pool.query('update one.knex_migrations_lock set is_locked = 1');
    await write('wares/0003-more.sql', 'create table one.more (a text);\n');
    await migrate(pool, parts);
    expect(await recorded()).to.have.length(4);
    expect(await isLocked()).to.deep.equal([0]);
  });

  it('need no privileges when there is nothing to apply', async () => {
    await migrate(pool, parts);
    const reader = open('?options=-crole%3Dpg_read_all_data');
    await migrate(reader, parts);
    await reader.end();
  });

  it('from releases before knex are taken over, and their table stays', async () => {
    await beAsTheFormerRelease();
    await migrate(pool, parts);
    await migrate(pool, parts);
    expect(await recorded()).to.deep.equal(['0001-wares.sql', '0002-prices.sql', '0001-buyers.sql']);
    const { rows } = await pool.query(
      `select migration_time from one.knex_migrations where name like '0001-wares.sql %'`,
    );
    expect(rows).to.deep.equal([{ migration_time: new Date('2026-01-02T03:04:05Z') }]);
    expect((await pool.query('select name from one.migrations')).rows).to.have.length(1);
  });

  it('resume after a start that was killed before any of its statements', async () => {
    parts = parts.slice(0, 2);
    await beAsTheFormerRelease();
    await migrate(pool, parts);
    const whole = [await shape(), await recorded(), await recorded('two')];
    let deaths = 0;
    for (; ; deaths++) {
      await pool.query('drop schema one cascade; drop schema if exists two cascade');
      await beAsTheFormerRelease();
      if (!(await isKilledBefore(deaths))) break;
      await migrate(pool, parts);
      expect(
        [await shape(), await recorded(), await recorded('two')],
        `killed before ${deaths}`,
      ).to.deep.equal(whole);
      expect(await isLocked()).to.deep.equal([0]);
    }
    expect(deaths).to.be.greaterThan(15);
  });

  async function isKilledBefore(diesBefore: number): Promise<boolean> {
    const { connectionString } = database;
    const mortal: MortalMigration = { connectionString, parts, diesBefore };
    const program = fileURLToPath(import.meta.resolve('./testing/mortalMigration.ts'));
    const [code, signal] = await once(fork(program, [JSON.stringify(mortal)]), 'exit');
    expect(signal ?? code).to.be.oneOf(['SIGKILL', 0]);
    return signal === 'SIGKILL';
  }
});
