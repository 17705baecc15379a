import { join } from 'node:path';
import type { Migrations } from '@coffer/database';

/** The tables of sign-in. */
export const authMigrations: Migrations = {
  schema: 'records',
  folder: join(import.meta.dirname, 'migrations'),
};
