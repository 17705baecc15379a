import { join } from 'node:path';
import { migrate, type Pool } from '@coffer/database';

/** Brings the chain's table in schema `records` up to date. Safe to run from several services at once. */
export const migrateAudit = (pool: Pool): Promise<void> =>
  migrate(pool, 'records', join(import.meta.dirname, 'migrations'));
