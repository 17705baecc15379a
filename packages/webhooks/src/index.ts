export { type WebhooksGiven, webhooksContext } from './context.ts';
export { webhookMigrations } from './migrations.ts';
