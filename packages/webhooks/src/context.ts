/** Webhooks: facts of the log, numbered per app, signed and delivered to the endpoints of its owner. */
import { defineContext } from '@coffer/host';
import { webhookMigrations } from './migrations.ts';

export const webhooksContext = defineContext({
  name: 'webhooks',
  migrations: [webhookMigrations],
});
