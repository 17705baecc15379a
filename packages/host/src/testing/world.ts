/** Contexts in this process, on a database of their own. */
import { randomBytes } from 'node:crypto';
import { createPool, type Pool } from '@coffer/database';
import { type EventStore, ourLog } from '@coffer/event-store';
import { createEventStoreDbEventStore } from '@coffer/event-store/eventstoredb';
import { createPostgresEventStore } from '@coffer/event-store/postgres';
import { createLogger } from '@coffer/http';
import type { Clock } from '@coffer/kernel';
import { createTestDatabase, eventStoreUrlOf, type TestDatabaseTemplate } from '@coffer/testing';
import type { Contexts } from '../contexts.ts';
import { migrateAll } from '../facts.ts';
import { type HostConfig, startHost } from '../host.ts';
import { roles as allRoles, type Role } from '../roles.ts';
import { type Client, createClient } from './client.ts';

export interface ContextWorld {
  /** `http://host:port`, without a path. */
  readonly url: string;
  /** As the operator, unless a call says otherwise. */
  readonly client: Client;
  readonly operatorToken: string;
  readonly databaseUrl: string;
  readonly pool: Pool;
  readonly store: EventStore;
  /** One JSON object each, from level `info` on. */
  readonly logLines: readonly string[];
  /** Stops it and drops its database. Fails where an answer was given that its endpoint does not declare. */
  readonly stop: () => Promise<void>;
}

export interface ContextWorldOptions<Given> {
  readonly contexts: Contexts<Given, object>;
  readonly given: Given;
  /** Default: all of them. */
  readonly roles?: readonly Role[];
  /** What differs from an ordinary installation. */
  readonly config?: Partial<HostConfig>;
  /** Default: that of the machine. */
  readonly clock?: Clock;
  /** Puts something between the contexts and their event store, to hold appends or to make them fail. */
  readonly wrapStore?: (store: EventStore) => EventStore;
}

const ORDINARY: HostConfig = {
  host: '127.0.0.1',
  port: 0,
  operatorAddress: undefined,
  systemPort: undefined,
  publicOrigin: undefined,
  trustProxy: false,
  maxConcurrentRequests: 1_000,
  requestTimeoutMs: 10_000,
  metricsPublic: false,
  secretKeyRatePerMinute: undefined,
  signInIpRatePerMinute: undefined,
  signInKeyRatePerMinute: undefined,
  cacheBytes: 64 * 1024 * 1024,
  reactionGraceMs: 2_000,
  failPoint: undefined,
};

export async function startContexts<Given>(options: ContextWorldOptions<Given>): Promise<ContextWorld> {
  const { contexts, given, roles = allRoles, config, clock, wrapStore = (one) => one } = options;
  const database = await createTestDatabase(templateOf(contexts));
  const databaseUrl = database.connectionString;
  const pool = openPool(databaseUrl, 10);
  const store = ourLog(wrapStore(await openStore(databaseUrl)));
  const operatorToken = `op_${randomBytes(32).toString('base64url')}`;
  const logLines: string[] = [];
  const undeclared = new Set<string>();
  const close = async () => {
    await store.close();
    await pool.end();
    await database.drop();
  };
  try {
    const host = await startHost({
      contexts,
      given,
      config: { ...ORDINARY, ...config },
      roles,
      pool,
      store,
      secretsKey: randomBytes(32),
      snapshotSecret: randomBytes(32),
      operatorToken,
      version: '0.0.0',
      logger: createLogger({ level: 'info', destination: { write: (line) => logLines.push(line) } }),
      clock,
      onUndeclared(problem) {
        undeclared.add(problem);
        throw new Error(problem);
      },
    });
    const url = String(host.url);
    return {
      url,
      client: createClient({ baseUrl: `${url}/v1`, operatorToken }),
      operatorToken,
      databaseUrl,
      pool,
      store,
      logLines,
      async stop() {
        await host.stop();
        await close();
        if (undeclared.size > 0) throw new Error([...undeclared].sort().join('\n'));
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Copies of it have every table of the contexts. */
function templateOf({ definitions }: Pick<Contexts<never, object>, 'definitions'>): TestDatabaseTemplate {
  return {
    name: definitions.map(({ name }) => name).join(' '),
    async prepare(connectionString) {
      const pool = openPool(connectionString, 1);
      await migrateAll(pool, definitions);
      await pool.end();
    },
  };
}

function openPool(connectionString: string, maxConnections: number): Pool {
  return createPool({
    connectionString,
    applicationName: 'context spec',
    maxConnections,
    onIdleError(error) {
      throw error;
    },
  });
}

async function openStore(databaseUrl: string): Promise<EventStore> {
  const connectionString = await eventStoreUrlOf(databaseUrl);
  return connectionString === undefined
    ? createPostgresEventStore({ connectionString: databaseUrl, applicationName: 'spec-log' })
    : createEventStoreDbEventStore({ connectionString });
}
