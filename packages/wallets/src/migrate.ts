import { join } from 'node:path';
import { migrate, type Pool } from '@coffer/database';

/** Brings the wallets' tables in schema `records` up to date. Safe to run from several services at once. */
export const migrateWallets = (pool: Pool): Promise<void> =>
  migrate(pool, 'records', join(import.meta.dirname, 'migrations'));
