/** Contexts in this process, with a database of their own. */
import { randomBytes } from 'node:crypto';
import { createPool, type Pool, STATEMENT_WITHIN_MS } from '@coffer/database';
import { type EventStore, ourLog } from '@coffer/event-store';
import { createEventStoreDbEventStore } from '@coffer/event-store/eventstoredb';
import { createPostgresEventStore } from '@coffer/event-store/postgres';
import { createLogger } from '@coffer/http';
import type { Clock } from '@coffer/kernel';
import { createTestDatabase, eventStoreUrlOf, type TestDatabaseTemplate } from '@coffer/testing';
import type { Contexts } from '../contexts.ts';
import { migrateAll } from '../facts.ts';
import { type Host, type HostConfig, startHost } from '../host.ts';
import { roles as allRoles, type Role } from '../roles.ts';
import { type Client, createClient } from './client.ts';

export interface ContextNode {
  /** `http://host:port`, without a path. */
  readonly url: string;
  /** The same, unless operator routes have an address of their own. */
  readonly operatorUrl: string;
  /** As the operator, unless a call specifies otherwise. */
  readonly client: Client;
  readonly operatorToken: string;
  /** One JSON object each, at level `info` and above. */
  readonly logLines: readonly string[];
  /** Fails if an answer was given that its endpoint does not declare. */
  readonly stop: () => Promise<void>;
}

export interface ContextWorld<Given = never> extends ContextNode {
  readonly databaseUrl: string;
  /** Of the installation: what one node sealed or hashed, the others can read. */
  readonly secretsKey: Uint8Array;
  readonly pool: Pool;
  readonly store: EventStore;
  /** Another process with the same contexts; stopped with the world at the latest. */
  readonly startNode: (differently?: Partial<NodeOptions<Given>>) => Promise<ContextNode>;
  /** Stops its nodes and drops its database. */
  readonly stop: () => Promise<void>;
}

interface NodeOptions<Given> {
  /** Default: the world's. */
  readonly databaseUrl?: string;
  readonly given: Given;
  /** Default: all of them. */
  readonly roles?: readonly Role[];
  /** What differs from an ordinary installation. */
  readonly config?: Partial<HostConfig>;
  /** Default: the machine's. */
  readonly clock?: Clock;
  /** The last step of the start. */
  readonly beforeReady?: (host: Host) => Promise<void>;
  /** Wraps the contexts' event store, to delay appends or make them fail. */
  readonly wrapStore?: (store: EventStore) => EventStore;
}

export interface ContextWorldOptions<Given> extends NodeOptions<Given> {
  readonly contexts: Contexts<Given, object>;
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

export async function startContexts<Given>({
  contexts,
  ...ordinarily
}: ContextWorldOptions<Given>): Promise<ContextWorld<Given>> {
  const database = await createTestDatabase(templateOf(contexts));
  const { connectionString: databaseUrl, pool } = database;
  const store = await openStoreOf(databaseUrl);
  const secrets = { secretsKey: randomBytes(32), snapshotSecret: randomBytes(32) };
  const stops: (() => Promise<void>)[] = [database.drop, store.close];
  const stop = async () => {
    const failures: unknown[] = [];
    for (const stopOne of stops.splice(0).reverse()) await stopOne().catch((error) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  };
  const startNode = async (differently: Partial<NodeOptions<Given>> = {}) => {
    const node = await startNodeOn({ databaseUrl, contexts, ...secrets, ...ordinarily, ...differently });
    let stopped: Promise<void> | undefined;
    const once = () => {
      stopped ??= node.stop();
      return stopped;
    };
    stops.push(once);
    return { ...node, stop: once };
  };
  try {
    const { secretsKey } = secrets;
    return { ...(await startNode()), databaseUrl, secretsKey, pool, store, startNode, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startNodeOn<Given>({
  databaseUrl,
  roles = allRoles,
  config,
  wrapStore = (store) => store,
  ...options
}: ContextWorldOptions<Given> & {
  readonly databaseUrl: string;
  readonly secretsKey: Uint8Array;
  readonly snapshotSecret: Uint8Array;
}): Promise<ContextNode> {
  // Specs break connections on purpose.
  const database = { connectionString: databaseUrl, applicationName: 'context spec', onIdleError() {} };
  const pool = createPool({ ...database, statementWithinMs: STATEMENT_WITHIN_MS });
  const patientPool = createPool(database);
  const store = ourLog(wrapStore(await openStoreOf(databaseUrl)));
  const operatorToken = `op_${randomBytes(32).toString('base64url')}`;
  const logLines: string[] = [];
  const undeclared = new Set<string>();
  const close = async () => {
    await store.close();
    await pool.end();
    await patientPool.end();
  };
  try {
    const host = await startHost({
      ...options,
      config: { ...ORDINARY, ...config },
      roles,
      pool,
      patientPool,
      store,
      operatorToken,
      version: '0.0.0',
      logger: createLogger({ level: 'info', destination: { write: (line) => logLines.push(line) } }),
      onUndeclared(problem) {
        undeclared.add(problem);
        throw new Error(problem);
      },
    });
    const url = String(host.url);
    return {
      url,
      operatorUrl: String(host.operatorUrl),
      client: createClient({ baseUrl: `${url}/v1`, operatorToken }),
      operatorToken,
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

/** Its copies have every table of the contexts. */
export function templateOf({
  definitions,
}: Pick<Contexts<never, object>, 'definitions'>): TestDatabaseTemplate {
  return {
    name: definitions.map(({ name }) => name).join(' '),
    prepare: (pool) => migrateAll(pool, definitions),
  };
}

/** The log used by the running process, for a spec's own use; the caller closes it. */
export async function openStoreOf(databaseUrl: string): Promise<EventStore> {
  const connectionString = await eventStoreUrlOf(databaseUrl);
  return connectionString === undefined
    ? createPostgresEventStore({ connectionString: databaseUrl, applicationName: 'spec-log' })
    : createEventStoreDbEventStore({ connectionString });
}
