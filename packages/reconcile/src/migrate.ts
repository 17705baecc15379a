import { join } from 'node:path';
import { migrate, type Pool } from '@coffer/database';

/** Brings the tables of the reconciliation in schema `records` up to date. Safe to run from several services at once. */
export const migrateReconcile = (pool: Pool): Promise<void> =>
  migrate(pool, 'records', join(import.meta.dirname, 'migrations'));
