/**
 * `schema.sql` shows every table as the migrations leave it, so that a review sees what a migration does.
 * After a change: run this spec with COFFER_WRITE_SCHEMA=1 and commit the file with the migration.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { auditMigrations } from '@coffer/audit';
import { authMigrations } from '@coffer/auth';
import { consumerMigrations, createConsumersTable } from '@coffer/consumers';
import { logMigrations, snapshotMigrations } from '@coffer/event-store/postgres';
import { portalMigrations } from '@coffer/portal';
import { createReadModels, readModelMigrations } from '@coffer/read-models';
import { reconcileMigrations } from '@coffer/reconcile';
import { createTestDatabase } from '@coffer/testing';
import { walletMigrations } from '@coffer/wallets';
import { webhookMigrations } from '@coffer/webhooks';
import { expect } from 'chai';
import { migrate } from './migrate.ts';
import { dumpSchemas } from './schemaDump.ts';

const MIGRATIONS = [
  logMigrations,
  snapshotMigrations,
  portalMigrations,
  authMigrations,
  auditMigrations,
  walletMigrations,
  webhookMigrations,
  reconcileMigrations,
  readModelMigrations,
  consumerMigrations,
];
const SCHEMAS = ['cache', 'log', 'read_v1', 'records'];
const FILE = new URL('../schema.sql', import.meta.url);

describe('the schema', () => {
  it('is what schema.sql shows', async () => {
    const database = await createTestDatabase();
    const { pool } = database;
    await migrate(pool, MIGRATIONS);
    await createConsumersTable(pool, 'records');
    await createReadModels(pool);
    const dumped = await dumpSchemas(pool, SCHEMAS);
    await database.drop();

    if (process.env.COFFER_WRITE_SCHEMA) await writeFile(FILE, dumped);
    expect(dumped).to.equal(await readFile(FILE, 'utf8'));
  });
});
