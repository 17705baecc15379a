/**
 * The yardstick: a server with the same app, schema and keyring over the same database as the service, whose
 * one endpoint answers without doing anything. A separate process that reports its port to its parent.
 */
import { createPool } from '@coffer/database';
import { createApp, createLogger, createMetricsRegistry, endpoint, startServer } from '@coffer/http';
import { systemClock } from '@coffer/kernel';
import { createKeyring } from '@coffer/portal';
import { betBody, placedBet } from '../../packages/ledger/src/domain/playSession.resource.ts';
import { NOOP_PATH } from './noop.ts';

const STOP_GRACE_MS = 1_000;

const noop = endpoint({
  method: 'POST',
  path: NOOP_PATH,
  credential: 'sk',
  summary: 'Take a bet and do nothing',
  body: betBody,
  success: { status: 200, schema: placedBet },
  errors: [],
  handle: ({ body: { sessionId, transactionUuid, amount } }) => ({
    status: 200,
    body: { sessionId, transactionUuid, amount: amount.toString(), balance: '999999999', status: 'accepted' },
  }),
});

const databaseUrl = process.env.DATABASE_URL;
if (!databaseUrl) throw new Error('The no-op server needs DATABASE_URL.');
const failHard = (error: unknown): void => {
  throw error;
};
const pool = createPool({
  connectionString: databaseUrl,
  applicationName: 'coffer-bench-noop',
  onIdleError: failHard,
});
const keyring = createKeyring(pool, { clock: systemClock, onWriteFailure: failHard });
const app = createApp({
  endpoints: [noop],
  catalog: {},
  errorOf: () => undefined,
  logger: createLogger({ level: 'warn' }),
  metrics: createMetricsRegistry(),
  resolveKey: keyring.resolveKey,
  resolveSession: () => undefined,
  allowedOrigins: { ofApp: () => false, ofAnyApp: () => false },
  isOperatorToken: () => false,
  readiness: async () => ({ ready: true, reasons: [] }),
  version: 'bench',
  maxConcurrentRequests: 4_000,
});
const server = await startServer(app, { host: '127.0.0.1', port: 0 });

process.once('SIGTERM', () => void leave());
process.once('disconnect', () => void leave());
process.send?.({ port: server.port });

async function leave(): Promise<void> {
  await server.stop(STOP_GRACE_MS);
  await keyring.close();
  await pool.end();
  process.exit(0);
}
