/**
 * Numbered, immutable migrations: plain SQL files `0001-what.sql`, applied once each, in order, under an
 * advisory lock, so that several services may start at once and a killed one leaves nothing half done.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Pool, withTransaction } from './pool.ts';

/** Any constant: every process that migrates this database must take the same lock. */
const MIGRATION_LOCK = 7_263_001;

/**
 * Brings `schema` up to date with the files of `folder`. Each file runs in the transaction that records it.
 * Throws when an applied file has changed since: migrations are never edited, only followed by another.
 */
export async function migrate(pool: Pool, schema: string, folder: string): Promise<void> {
  const files = (await readdir(folder)).filter((name) => /^\d{4}-.+\.sql$/.test(name)).sort();
  await withTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await client.query(`create schema if not exists ${schema}`);
    await client.query(
      `create table if not exists ${schema}.migrations
         (name text primary key, sha256 text not null, applied_at timestamptz not null default now())`,
    );
    const { rows } = await client.query<{ name: string; sha256: string }>(
      `select name, sha256 from ${schema}.migrations`,
    );
    const applied = new Map(rows.map((row) => [row.name, row.sha256]));
    for (const name of files) {
      const sql = await readFile(join(folder, name), 'utf8');
      const sha256 = createHash('sha256').update(sql).digest('hex');
      const before = applied.get(name);
      if (before === sha256) continue;
      if (before) {
        throw new Error(`Migration ${schema}/${name} was changed after it ran. Add a new migration instead.`);
      }
      await client.query(sql);
      await client.query(`insert into ${schema}.migrations (name, sha256) values ($1, $2)`, [name, sha256]);
    }
  });
}
