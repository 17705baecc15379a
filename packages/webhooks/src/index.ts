export { webhooksContext } from './context.ts';
export { webhookMigrations } from './migrations.ts';
