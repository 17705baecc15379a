import { join } from 'node:path';
import type { Migrations } from '@coffer/database';

/** The portal's tables. */
export const portalMigrations: Migrations = {
  schema: 'records',
  folder: join(import.meta.dirname, 'migrations'),
};
