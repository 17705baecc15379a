import { join } from 'node:path';
import type { Migrations } from '@coffer/database';

/** The wallets' tables. */
export const walletMigrations: Migrations = {
  schema: 'records',
  folder: join(import.meta.dirname, 'migrations'),
};
