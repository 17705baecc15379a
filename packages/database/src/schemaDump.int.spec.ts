/**
 * `schema.sql` shows every table as the migrations leave it, so that a review sees what a migration does.
 * After a change: run this spec with COFFER_WRITE_SCHEMA=1 and commit the file with the migration.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { migrateAudit } from '@coffer/audit';
import { migrateAuth } from '@coffer/auth';
import { createConsumersTable, migrateConsumers } from '@coffer/consumers';
import { migrateLog, migrateSnapshots } from '@coffer/event-store/postgres';
import { migrateRecords } from '@coffer/portal';
import { migrateReadModels } from '@coffer/read-models';
import { migrateReconcile } from '@coffer/reconcile';
import { createTestDatabase } from '@coffer/testing';
import { migrateWallets } from '@coffer/wallets';
import { expect } from 'chai';
import { createPool, type Pool } from './pool.ts';
import { dumpSchemas } from './schemaDump.ts';

const MIGRATIONS: readonly ((pool: Pool) => Promise<void>)[] = [
  migrateLog,
  migrateSnapshots,
  migrateRecords,
  migrateAuth,
  migrateAudit,
  migrateWallets,
  migrateReconcile,
  migrateReadModels,
  migrateConsumers,
  (pool) => createConsumersTable(pool, 'records'),
];
const SCHEMAS = ['cache', 'log', 'read_v1', 'records'];
const FILE = new URL('../schema.sql', import.meta.url);

describe('the schema', () => {
  it('is what schema.sql shows', async () => {
    const database = await createTestDatabase();
    const pool = createPool({
      connectionString: database.connectionString,
      applicationName: 'spec',
      onIdleError() {},
    });
    for (const migrate of MIGRATIONS) await migrate(pool);
    const dumped = await dumpSchemas(pool, SCHEMAS);
    await pool.end();
    await database.drop();

    if (process.env.COFFER_WRITE_SCHEMA) await writeFile(FILE, dumped);
    expect(dumped).to.equal(await readFile(FILE, 'utf8'));
  });
});
