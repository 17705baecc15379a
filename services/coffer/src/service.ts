/** The composition root: opens what the contexts need, and runs them. What it starts, it stops in reverse order. */
import { isMainThread } from 'node:worker_threads';
import { requireIdentityKey } from '@coffer/auth';
import { createPool, STATEMENT_WITHIN_MS } from '@coffer/database';
import type { EventStore } from '@coffer/event-store';
import { type Host, type HostOptions, type Role, startHost } from '@coffer/host';
import type { Logger } from '@coffer/http';
import type { Clock } from '@coffer/kernel';
import { isLoopback } from '@coffer/store-gateway/loopback';
import { needMasterKeys } from './config.ts';
import { CONTEXTS } from './contexts.ts';
import { gatewayStoreOf, openEventStore, watchAppends } from './eventStore.ts';
import { type Installation, type InstallationOptions, installationOf } from './installation.ts';
import { startStoreGateway } from './storeGateway.ts';
import { VERSION } from './version.ts';

export interface ServiceOptions
  extends InstallationOptions,
    Pick<HostOptions<Installation>, 'metricsOfOthers' | 'onLogRewritten' | 'threads'> {
  readonly roles: readonly Role[];
  readonly databaseUrl: string;
  readonly secretsKey: Uint8Array;
  /** Undefined: no snapshots are kept or used. */
  readonly snapshotSecret: Uint8Array | undefined;
  readonly operatorToken: string;
  /** Undefined if the store gateway is not enabled. */
  readonly storeGatewayPassword: string | undefined;
  readonly logger: Logger;
  /** Runs once everything listens; nothing is ready until it has finished. */
  readonly beforeReady?: (service: Service) => Promise<void>;
  /** For specs: called with every answer that its endpoint does not declare, and throws. */
  readonly onUndeclared?: (problem: string) => never;
  /** For specs: the time of day. Default: the machine's. */
  readonly clock?: Clock;
  /** For specs: wraps the service's event store. */
  readonly wrapStore?: (store: EventStore) => EventStore;
}

export interface Service extends Host {
  /** Undefined if the store gateway is not enabled. */
  readonly storeGatewayPort: number | undefined;
}

export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, roles, databaseUrl, logger, masterKeys } = options;
  const stops: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const stopOne of stops.splice(0).reverse()) await stopOne();
  };
  try {
    const database = {
      connectionString: databaseUrl,
      applicationName: 'coffer',
      // The driver attaches the whole connection to the error: only its message is worth reading.
      onIdleError: ({ message }: Error) => logger.warn({ reason: message }, 'a database connection was lost'),
    };
    const pool = createPool({ ...database, statementWithinMs: STATEMENT_WITHIN_MS });
    stops.push(() => pool.end());
    const patientPool = createPool(database);
    stops.push(() => patientPool.end());
    await requireIdentityKey(pool, options.identityKey);
    const { wrapStore = (one: EventStore) => one } = options;
    const appends = watchAppends(() => performance.now());
    const store = await openEventStore({ ...options, wrap: (whole) => appends.watching(wrapStore(whole)) });
    stops.push(() => store.close());
    const gateway = await openGateway(store.whole);

    if (isMainThread && needMasterKeys(roles) && masterKeys.all().length === 0) {
      logger.warn('no master keys are given: no wallet is provisioned or signs (COFFER_MASTER_KEYS)');
    }

    const host = await startHost({
      ...options,
      contexts: CONTEXTS,
      given: installationOf(options),
      pool,
      patientPool,
      store,
      version: VERSION,
      async beforeReady(host) {
        const areApart = host.url !== host.operatorUrl;
        if (isMainThread && host.url !== undefined && !areApart && !isLoopback(config.host)) {
          logger.warn(
            { host: config.host },
            'others than this machine can reach the operator routes (COFFER_OPERATOR_PORT)',
          );
        }
        await options.beforeReady?.({ ...host, storeGatewayPort: gateway?.port });
      },
    });
    stops.push(host.stop);
    return { ...host, storeGatewayPort: gateway?.port, stop };

    /** Its clients see the log as stored. */
    async function openGateway(whole: EventStore) {
      if (!config.storeGateway) return undefined;
      const gatewayStore = gatewayStoreOf(whole, databaseUrl);
      stops.push(() => gatewayStore.close());
      const opened = await startStoreGateway({ ...options, store: gatewayStore, isBusy: appends.isBusy });
      if (opened) stops.push(() => opened.stop());
      return opened;
    }
  } catch (error) {
    await stop();
    throw error;
  }
}
