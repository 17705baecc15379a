import { join } from 'node:path';
import type { Migrations } from '@coffer/database';

/** The tables of the reconciliation. */
export const reconcileMigrations: Migrations = {
  schema: 'records',
  folder: join(import.meta.dirname, 'migrations'),
};
