import { join } from 'node:path';
import type { Migrations } from '@coffer/database';

/** The chain's table. */
export const auditMigrations: Migrations = {
  schema: 'records',
  folder: join(import.meta.dirname, 'migrations'),
};
