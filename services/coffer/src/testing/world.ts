/** The whole service in this process, with a database of its own, for specs that use HTTP. */
import { randomBytes } from 'node:crypto';
import type { Pool } from '@coffer/database';
import type { EventStore } from '@coffer/event-store';
import { roles as allRoles, migrateAll, type Role } from '@coffer/host';
import { type Client, createClient } from '@coffer/host/testing';
import { createLogger } from '@coffer/http';
import { noChains, type OpenChains } from '@coffer/solana';
import { createTestDatabase, eventStoreUrlOf, type TestDatabaseTemplate } from '@coffer/testing';
import { createMasterKeys, masterKeysText, newMasterKey } from '@coffer/wallets';
import { configFrom } from '../config.ts';
import { CONTEXTS } from '../contexts.ts';
import { startService } from '../service.ts';

export interface World {
  /** `http://host:port`, without a path. */
  readonly url: string;
  /** The same, unless the environment gives operator routes an address of their own. */
  readonly operatorUrl: string;
  readonly client: Client;
  readonly operatorToken: string;
  /** Undefined unless the environment enables the store gateway. */
  readonly storeGatewayPort: number | undefined;
  readonly databaseUrl: string;
  readonly pool: Pool;
  /** The service's log, one JSON object per entry; at level `info` and above unless LOG_LEVEL says otherwise. */
  readonly logLines: readonly string[];
  /**
   * Stops the service and drops its database. Fails if connections were left open, or if the service gave an answer
   * that its OpenAPI document does not declare.
   */
  readonly stop: () => Promise<void>;
}

export interface WorldOptions {
  /** Variables of the service's environment that differ from the default. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Default: all of them. */
  readonly roles?: readonly Role[];
  /** Wraps the service's event store, to delay appends or make them fail. */
  readonly wrapStore?: (store: EventStore) => EventStore;
  /** Default: none. */
  readonly chains?: OpenChains;
}

/** The same for every node: what one has sealed or hashed, the next one on the same database must read. */
const SECRETS = {
  secretsKey: randomBytes(32),
  identityKey: randomBytes(32),
  snapshotSecret: randomBytes(32),
};

/** For the store gateway, unless the environment specifies another. */
export const GATEWAY_PASSWORD = randomBytes(24).toString('base64url');

/** Its copies have every table of the service. */
export const serviceTemplate: TestDatabaseTemplate = {
  name: 'service',
  prepare: (pool) => migrateAll(pool, CONTEXTS.definitions),
};

export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const database = await createTestDatabase(serviceTemplate);
  try {
    const node = await startNode(database.connectionString, options);
    return {
      ...node,
      databaseUrl: database.connectionString,
      pool: database.pool,
      stop: async () => {
        try {
          await node.stop();
        } finally {
          await database.drop();
        }
      },
    };
  } catch (error) {
    await database.drop();
    throw error;
  }
}

/** The same for every service of a run, since several may share a database. */
export const SPEC_MASTER_KEYS = masterKeysText([newMasterKey('test', 1), newMasterKey('live', 1)]);

const A_DAY_MS = 24 * 60 * 60 * 1000;

/** The service in this process with an existing database: for specs that restart it. */
export async function startNode(
  databaseUrl: string,
  { environment = {}, roles = allRoles, wrapStore, chains = noChains }: WorldOptions = {},
): Promise<Omit<World, 'databaseUrl' | 'pool'>> {
  const eventStoreUrl = await eventStoreUrlOf(databaseUrl);
  const operatorToken = `op_${randomBytes(32).toString('base64url')}`;
  const logLines: string[] = [];
  const undeclared = new Set<string>();
  const config = configFrom({
    PORT: '0',
    COFFER_MASTER_KEYS: SPEC_MASTER_KEYS,
    ...(eventStoreUrl !== undefined && { EVENTSTORE_URL: eventStoreUrl }),
    ...environment,
  });
  const service = await startService({
    config,
    masterKeys: createMasterKeys(config.masterKeys ?? []),
    makeNextMasterKey: undefined,
    chains,
    // Not while a spec runs.
    chainReconciling: { bearOutEveryMs: A_DAY_MS },
    roles,
    databaseUrl,
    ...SECRETS,
    operatorToken,
    storeGatewayPassword: config.storeGateway && (config.storeGateway.password ?? GATEWAY_PASSWORD),
    logger: createLogger({ level: config.logLevel, destination: { write: (line) => logLines.push(line) } }),
    onUndeclared: (problem) => {
      undeclared.add(problem);
      throw new Error(problem);
    },
    ...(wrapStore && { wrapStore }),
  });
  const url = String(service.url);
  const operatorUrl = String(service.operatorUrl);
  const client = createClient({ baseUrl: `${url}/v1`, operatorToken });
  const { storeGatewayPort } = service;
  const stop = async () => {
    await service.stop();
    if (undeclared.size > 0) throw new Error([...undeclared].sort().join('\n'));
  };
  return { url, operatorUrl, client, operatorToken, storeGatewayPort, logLines, stop };
}
