/**
 * Numbered, immutable migrations: plain SQL files `0001-what.sql`, applied once each and in order by knex. All of it
 * happens on one connection that holds an advisory lock: several services may start at once, and a killed one leaves
 * nothing half done and nothing locked. ADR 0031.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import knex, { type Knex } from 'knex';
import { type Client, type Pool, withConnection } from './pool.ts';

/** What one part of the service brings: a folder of SQL files, and the schema in which they make its tables. */
export interface Migrations {
  readonly schema: string;
  readonly folder: string;
}

/** A later release has migrated the database: what this one would write to it, nobody has tried. */
export class NewerDatabaseError extends Error {
  override readonly name = 'NewerDatabaseError';
}

/** Any constant: every process that migrates this database takes the same lock, as every release has. */
const MIGRATION_LOCK = 7_263_001;

const TABLE = 'knex_migrations';

/**
 * Brings the schemas up to date. Each file runs in the transaction that records it. Throws when an applied file has
 * changed since: migrations are never edited, only followed by another. Of a schema, all parts are given at once:
 * what is applied and not among them, a later release has brought.
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
  /** Under which it is recorded. */
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
  const { migrate: migrator } = knexOn(client);
  const config: Knex.MigratorConfig = {
    schemaName: schema,
    tableName: TABLE,
    // It would call a database of a later release a corrupt folder.
    disableMigrationsListValidation: true,
    migrationSource: {
      getMigrations: async () => files,
      getMigrationName: ({ record }: File) => record,
      // Past knex, which reads a question mark in SQL as a parameter; the connection is the one of its transaction.
      getMigration: async ({ sql }: File) => ({ up: () => client.query(sql), down: neverDown }),
    },
  };
  await createSchema(client, schema);
  // Makes knex's own tables as well.
  const listed = async (): Promise<[{ name: string }[], File[]]> => migrator.list(config);
  let [applied, pending] = await listed();
  if (await takeOver(client, schema)) [applied, pending] = await listed();
  for (const { name } of applied) requireKnown(schema, files, name);
  if (pending.length === 0) return;
  // Whoever left knex's lock behind is gone: only this connection holds the advisory one.
  await migrator.forceFreeMigrationsLock(config);
  for (const _ of pending) await migrator.up(config);
}

/** A knex whose only connection is this one, so that what it runs is under the lock that the connection holds. */
function knexOn(client: Client): Knex {
  const silent = () => undefined;
  // What it would write to the console, it throws as well.
  const builder = knex({ client: 'pg', log: { warn: silent, error: silent, debug: silent } });
  Object.assign(builder.client, {
    acquireConnection: async () => client,
    releaseConnection: async () => undefined,
  });
  return builder;
}

const neverDown = () => Promise.reject(new Error('Migrations are followed by others, never taken back.'));

/** "If not exists" asks for the right to create schemas even where there is nothing to create. */
async function createSchema(client: Client, schema: string): Promise<void> {
  const { rows } = await client.query<{ exists: boolean }>(
    'select to_regnamespace($1) is not null as exists',
    [schema],
  );
  if (!rows[0]?.exists) await client.query(`create schema ${schema}`);
}

/**
 * Records what releases before knex have applied, from the table in which they recorded it; whether there was something.
 * That table stays, for a node of such a release that starts again while the others are replaced.
 */
async function takeOver(client: Client, schema: string): Promise<boolean> {
  const { rows } = await client.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [
    `${schema}.migrations`,
  ]);
  if (!rows[0]?.exists) return false;
  const { rowCount } = await client.query(
    `insert into ${schema}.${TABLE} (name, batch, migration_time)
     select record, 0, applied_at
       from (select name || ' ' || sha256 as record, applied_at from ${schema}.migrations) as former
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
      `The database was migrated by a later release of Coffer: this one does not know ${schema}/${name}.`,
      'Start that release or a later one on it, or give this one a database of its own.',
    ].join('\n'),
  );
}
