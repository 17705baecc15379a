/**
 * A store gateway in a separate process: over a log in memory, or over a database's. Started by storeGateways.ts, which
 * it tells its port; ends with its parent or when told to.
 */
import type { EventStore } from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { createPostgresEventStore } from '@coffer/event-store/postgres';
import { createStoreGateway } from '@coffer/store-gateway';

export interface StoreGatewayProcessOptions {
  /** The database whose log it serves. Default: a log in memory. */
  readonly databaseUrl?: string;
  /** How far this server's clock is ahead. */
  readonly clockAheadMs?: number;
}

const options: StoreGatewayProcessOptions = JSON.parse(process.argv[2] ?? '{}');
const { databaseUrl, clockAheadMs = 0 } = options;
const now = Date.now;
Date.now = () => now() + clockAheadMs;

const store: EventStore =
  databaseUrl === undefined
    ? createMemoryEventStore()
    : createPostgresEventStore({ connectionString: databaseUrl, applicationName: 'store-gateway' });
const gateway = await createStoreGateway({
  store,
  host: '127.0.0.1',
  port: 0,
  credentials: { user: 'coffer', password: 'only for specs' },
  allowWrites: true,
});
process.once('message', async () => {
  await gateway.stop();
  await store.close();
  process.disconnect();
});
process.once('disconnect', () => process.exit());
process.send?.(gateway.port);
