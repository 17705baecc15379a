import { join } from 'node:path';
import type { Migrations } from '@coffer/database';

/** Numbers, events, subscriptions and deliveries. */
export const webhookMigrations: Migrations = {
  schema: 'records',
  folder: join(import.meta.dirname, 'migrations'),
};
