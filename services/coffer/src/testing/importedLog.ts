/** An export of another release, in a database of this one. */
import type { Pool } from '@coffer/database';
import { migrateAll } from '@coffer/host';
import { openStoreOf } from '@coffer/host/testing';
import type { TestDatabase } from '@coffer/testing';
import { CONTEXTS } from '../contexts.ts';
import { type ImportResult, importStreams } from '../importStreams.ts';

/** What an installation keeps outside its log: an app with SOL and CHIP, as a first start makes it. */
async function insertDemoApp(pool: Pool, appId: string, scopeId: string): Promise<void> {
  await pool.query(`insert into records.apps values ($1, 'Demo', $2, now())`, [appId, scopeId]);
  await pool.query(
    `insert into records.currencies values
       ($1, 1, 'SOL', 9, 'native', 'native', now()), ($1, 2, 'CHIP', 6, null, null, now())`,
    [appId],
  );
}

export async function importLogOf(
  { connectionString, pool }: TestDatabase,
  { appId, scopeId }: { readonly appId: string; readonly scopeId: string },
  chunks: AsyncIterable<Buffer>,
): Promise<ImportResult> {
  await insertDemoApp(pool, appId, scopeId);
  const store = await openStoreOf(connectionString);
  const imported = await importStreams({ pool, store, chunks, onProgress() {} });
  await store.close();
  // As every start does.
  await migrateAll(pool, CONTEXTS.definitions);
  return imported;
}
