/**
 * Numbered, immutable migrations: SQL files named `0001-what.sql`, which knex applies once each and in order. All of it
 * happens on one connection that holds an advisory lock: several services may start at once, and a killed one leaves
 * nothing half done and nothing locked. ADR 0031.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Knex } from 'knex';
import { knex } from './knex.ts';
import { type Client, type Pool, withConnection } from './pool.ts';

/** One part of the service: a folder of SQL files, and the schema in which they create its tables. */
export interface Migrations {
  readonly schema: string;
  readonly folder: string;
}

/** A later release has migrated the database; nobody has tested what this one would write to it. */
export class NewerDatabaseError extends Error {
  override readonly name = 'NewerDatabaseError';
}

/** An arbitrary constant, the same in every release: all processes that migrate this database take this lock. */
const MIGRATION_LOCK = 7_263_001;

const TABLE = 'knex_migrations';
/** Of releases before knex. */
const FORMER_TABLE = 'migrations';
const FORMER_RECORD = "name || ' ' || sha256";

/**
 * Brings the schemas up to date. Each file runs in the transaction that records it. Throws when an applied file has
 * changed: migrations are never edited, only followed by another. All parts of a schema are given at once: an applied
 * file that is in none of them comes from a later release.
 */
export async function migrate(pool: Pool, parts: readonly Migrations[]): Promise<void> {
  await withConnection(pool, async (client) => {
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    for (const [schema, folders] of Map.groupBy(parts, (part) => part.schema)) {
      const files = await Promise.all(folders.map(({ folder }) => filesOf(folder)));
      await migrateSchema(client, schema, files.flat());
    }
    await client.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK]);
  });
}

interface File {
  readonly name: string;
  readonly sql: string;
  /** The name under which it is recorded. */
  readonly record: string;
}

const recordOf = (name: string, sha256: string) => `${name} ${sha256}`;

async function filesOf(folder: string): Promise<File[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{4}-.+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(join(folder, name), 'utf8');
      return { name, sql, record: recordOf(name, createHash('sha256').update(sql).digest('hex')) };
    }),
  );
}

async function migrateSchema(client: Client, schema: string, files: File[]): Promise<void> {
  await createSchema(client, schema);
  if (await isUpToDate(client, schema, files)) return;
  const { migrate: migrator } = knexOn(client);
  const config: Knex.MigratorConfig = {
    schemaName: schema,
    tableName: TABLE,
    // Knex would call the database of a later release a corrupt folder.
    disableMigrationsListValidation: true,
    migrationSource: {
      getMigrations: async () => files,
      getMigrationName: ({ record }: File) => record,
      // Bypasses knex, which takes a question mark in SQL for a parameter; this is the connection of its transaction.
      getMigration: async ({ sql }: File) => ({ up: () => client.query(sql), down: neverDown }),
    },
  };
  // Creates knex's own tables as well.
  const listed = async (): Promise<[{ name: string }[], File[]]> => migrator.list(config);
  let [applied, pending] = await listed();
  if (await takeOver(client, schema)) [applied, pending] = await listed();
  for (const { name } of applied) requireKnown(schema, files, name);
  if (pending.length === 0) return;
  // Nobody alive holds knex's lock: only this connection has the advisory lock.
  await migrator.forceFreeMigrationsLock(config);
  for (const _ of pending) await migrator.up(config);
}

/** As at most starts, which then do not even load knex. */
async function isUpToDate(client: Client, schema: string, files: readonly File[]): Promise<boolean> {
  const recorded = new Set(await recordsIn(client, `${schema}.${TABLE}`, 'name'));
  const former = await recordsIn(client, `${schema}.${FORMER_TABLE}`, FORMER_RECORD);
  const expected = files.map(({ record }) => record);
  return (
    recorded.size === expected.length && [...expected, ...former].every((record) => recorded.has(record))
  );
}

/** None if there is no such table. */
async function recordsIn(client: Client, table: string, record: string): Promise<readonly string[]> {
  if (!(await isTable(client, table))) return [];
  const { rows } = await client.query<{ record: string }>(`select ${record} as record from ${table}`);
  return rows.map((row) => row.record);
}

async function isTable(client: Client, name: string): Promise<boolean> {
  const { rows } = await client.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [
    name,
  ]);
  return rows[0]?.exists ?? false;
}

/** A knex with this connection only, so that everything it runs is under the connection's lock. */
function knexOn(client: Client): Knex {
  const silent = () => undefined;
  // Whatever it would print, it also throws.
  const builder = knex({ client: 'pg', log: { warn: silent, error: silent, debug: silent } });
  Object.assign(builder.client, {
    acquireConnection: async () => client,
    releaseConnection: async () => undefined,
  });
  return builder;
}

const neverDown = () => Promise.reject(new Error('Migrations are never undone, only followed by others.'));

/** `if not exists` needs the privilege to create schemas even when there is nothing to create. */
async function createSchema(client: Client, schema: string): Promise<void> {
  const { rows } = await client.query<{ exists: boolean }>(
    'select to_regnamespace($1) is not null as exists',
    [schema],
  );
  if (!rows[0]?.exists) await client.query(`create schema ${schema}`);
}

/**
 * Records what releases before knex have applied, from their own table; true if there was any. That table stays for a
 * node of such a release that restarts while the others are being replaced.
 */
async function takeOver(client: Client, schema: string): Promise<boolean> {
  if (!(await isTable(client, `${schema}.${FORMER_TABLE}`))) return false;
  const { rowCount } = await client.query(
    `insert into ${schema}.${TABLE} (name, batch, migration_time)
     select record, 0, applied_at
       from (select ${FORMER_RECORD} as record, applied_at from ${schema}.${FORMER_TABLE}) as former
      where not exists (select from ${schema}.${TABLE} where name = record)
      order by applied_at, record`,
  );
  return rowCount !== 0;
}

function requireKnown(schema: string, files: readonly File[], record: string): void {
  if (files.some((file) => file.record === record)) return;
  const [name] = record.split(' ');
  if (files.some((file) => file.name === name)) {
    throw new Error(`Migration ${schema}/${name} was changed after it ran. Add a new migration instead.`);
  }
  throw new NewerDatabaseError(
    [
      `The database was migrated by a later release of Coffer: this release does not know ${schema}/${name}.`,
      'Start that release or a later one, or use another database.',
    ].join('\n'),
  );
}
