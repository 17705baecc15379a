/**
 * The composition root: the only place that knows which real things stand behind the ports. What it starts it
 * stops, in the reverse order.
 */
import { timingSafeEqual } from 'node:crypto';
import { auditMigrations } from '@coffer/audit';
import { authMigrations, requireIdentityKey, type ViewUser } from '@coffer/auth';
import { chainWorkerMigrations } from '@coffer/chain-worker';
import { consumerMigrations, createConsumersTable } from '@coffer/consumers';
import { createPool, type Migrations, migrate, type Pool } from '@coffer/database';
import type { EventStore } from '@coffer/event-store';
import { logMigrations, snapshotMigrations } from '@coffer/event-store/postgres';
import {
  createApp,
  createMetricsRegistry,
  type Endpoint,
  type Logger,
  type RunningServer,
  startServer,
} from '@coffer/http';
import { type Clock, type Environment, systemClock } from '@coffer/kernel';
import { portalMigrations } from '@coffer/portal';
import { createReadModels, readModelMigrations } from '@coffer/read-models';
import { reconcileMigrations, startBearingOut } from '@coffer/reconcile';
import { startReconcilerRole, startScrubRole } from '@coffer/reconciler';
import { isLoopback } from '@coffer/store-gateway/loopback';
import { adoptMasterKeys, type MasterKey, type MasterKeys, walletMigrations } from '@coffer/wallets';

import type { Chains } from './chains.ts';
import { type Config, needMasterKeys, type Role } from './config.ts';
import { catalog, createContexts, readModelProjections } from './contexts.ts';
import { errorOf } from './errorOf.ts';
import { gatewayStoreOf, openEventStore, watchAppends } from './eventStore.ts';
import { observeService } from './observe.ts';
import { rateLimitsOf } from './rateLimits.ts';
import { readinessOf } from './readiness.ts';
import { startServiceChainWorker } from './serviceChainWorker.ts';
import { sharedConsumerOptions, startConsumers } from './serviceConsumers.ts';
import { startStoreGateway } from './storeGateway.ts';
import { VERSION } from './version.ts';

/** Requests in flight may finish for so long after a SIGTERM. Source: architecture, Running it. */
const STOP_GRACE_MS = 8_000;

export interface ServiceOptions {
  readonly config: Config;
  readonly roles: readonly Role[];
  readonly databaseUrl: string;
  readonly secretsKey: Uint8Array;
  readonly identityKey: Uint8Array;
  /** Undefined: no snapshots are kept or used. */
  readonly snapshotSecret: Uint8Array | undefined;
  readonly operatorToken: string;
  /** Undefined where the store gateway is not asked for. */
  readonly storeGatewayPassword: string | undefined;
  /** Those that this process may use; none where it has no need of them. */
  readonly masterKeys: MasterKeys;
  /** Where money moves on a chain. */
  readonly chains: Chains;
  /** Given where the installation keeps its own. */
  readonly makeNextMasterKey: ((environment: Environment) => Promise<MasterKey>) | undefined;
  readonly logger: Logger;
  /** Done when everything listens; until its end nothing is ready. */
  readonly beforeReady?: (service: Service) => Promise<void>;
  /** For specs: is told of every answer that its endpoint does not declare, and throws. */
  readonly onUndeclared?: (problem: string) => never;
  /** For specs: the time of day. Default: that of the machine. */
  readonly clock?: Clock;
  /** How often the ends of moves are looked for on the chain. Default: every 15 seconds. */
  readonly bearOutEveryMs?: number;
  /** For specs: who a user is, for sign-in sessions. Default: the one behind the identity. */
  readonly viewUser?: ViewUser;
  /** For specs: stands between the service and its event store. */
  readonly wrapStore?: (store: EventStore) => EventStore;
}

export interface Service {
  /** Without a path; undefined where this process does not serve the API. */
  readonly url: string | undefined;
  /** Of operator routes: that of the API, unless they have an address of their own. */
  readonly operatorUrl: string | undefined;
  /** Of health and metrics where this process does not serve the API; undefined where it does, or is not told to. */
  readonly systemUrl: string | undefined;
  /** Undefined where the store gateway is not asked for. */
  readonly storeGatewayPort: number | undefined;
  readonly stop: () => Promise<void>;
}

/** All that there are. */
export const MIGRATIONS: readonly Migrations[] = [
  // Before the records: what is written to them may follow from the log.
  logMigrations,
  snapshotMigrations,
  portalMigrations,
  authMigrations,
  auditMigrations,
  walletMigrations,
  chainWorkerMigrations,
  reconcileMigrations,
  consumerMigrations,
  readModelMigrations,
];

/** Creates or updates every schema. Safe to run by several processes at once. */
export async function migrateAll(pool: Pool): Promise<void> {
  await migrate(pool, MIGRATIONS);
  await createConsumersTable(pool, 'records');
  await createReadModels(pool);
}

export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, roles, databaseUrl, logger } = options;
  const stops: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const stopOne of stops.splice(0).reverse()) await stopOne();
  };
  try {
    const pool = createPool({
      connectionString: databaseUrl,
      applicationName: 'coffer',
      // The driver hangs the whole connection on the error: its message is what anyone wants to read.
      onIdleError: ({ message }) => logger.warn({ reason: message }, 'a database connection was lost'),
    });
    stops.push(() => pool.end());
    await requireIdentityKey(pool, options.identityKey);
    const { wrapStore = (one: EventStore) => one } = options;
    const appends = watchAppends(() => performance.now());
    const store = await openEventStore({ ...options, wrap: (whole) => appends.watching(wrapStore(whole)) });
    stops.push(() => store.close());
    const gateway = await openGateway();
    const headAtStart = await store.head();

    if (needMasterKeys(roles) && options.masterKeys.all().length === 0) {
      logger.warn('no master keys are given: no wallet is provisioned or signs (COFFER_MASTER_KEYS)');
    }
    await adoptMasterKeys(pool, options.masterKeys, {
      actor: 'service',
      requestId: 'start',
      at: systemClock(),
    });
    let ownOrigin: string | undefined;
    const contexts = createContexts(options, pool, store, () => ownOrigin, headAtStart);
    stops.push(() => contexts.rewrapper.stop());
    contexts.rewrapper.wake();
    stops.push(() => contexts.keyring.close());
    stops.push(() => contexts.signInSessions.stop());
    stops.push(() => contexts.methods.stop());
    stops.push(() => contexts.onChain.stop());
    stops.push(() => contexts.reconciler.close());
    stops.push(() => contexts.chainReconciler.close());
    const metrics = createMetricsRegistry();
    const shared = sharedConsumerOptions(options, pool, store, contexts);
    const consumers = [
      ...(await startConsumers(options, shared, { ...contexts, projections: readModelProjections })),
    ];
    stops.push(async () => {
      await Promise.all(consumers.map((consumer) => consumer.stop()));
    });
    if (roles.includes('chain-worker')) {
      const { onChain, ...rest } = contexts;
      const worker = startServiceChainWorker({
        ...shared,
        ...onChain,
        ...rest,
        ...options,
        pool,
        store,
        registry: metrics,
      });
      stops.push(worker.stop);
      consumers.push(worker.consumer);
      const bearingOut = startBearingOut({
        pool,
        bearOut: contexts.chainReconciler.bearOut,
        hasChain: (environment) => options.chains.find(environment) !== undefined,
        ...(options.bearOutEveryMs !== undefined && { everyMs: options.bearOutEveryMs }),
        onTrouble: (error, place) =>
          logger.info({ ...place, err: error }, 'the ends of moves were not looked for on the chain'),
      });
      stops.push(bearingOut.stop);
    }
    observeService(metrics, { ...contexts, consumers });
    if (roles.includes('reconciler')) {
      const role = startReconcilerRole({
        reconciler: contexts.reconciler,
        chainReconciler: contexts.chainReconciler,
        hasChain: (environment) => options.chains.find(environment) !== undefined,
        places: contexts.places,
        schedule: config.reconcileSchedule,
        fullSchedule: config.fullReconcileSchedule,
        clock: systemClock,
        registry: metrics,
        logger,
      });
      stops.push(role.stop);
    }
    if (roles.includes('reconciler') && config.scrubPassMs > 0) {
      stops.push(startScrubRole({ scrubber: contexts.scrubber, registry: metrics, logger }).stop);
    }

    const isApi = roles.includes('api');
    let isStarted = false;
    const servers: RunningServer[] = [];
    // Together, as they have the grace together.
    stops.push(async () => {
      await Promise.all(servers.map((running) => running.stop(STOP_GRACE_MS)));
    }, contexts.projections.stop);
    const { host, port, operatorAddress } = config;
    const operator =
      operatorAddress && isApi
        ? await serve(contexts.endpoints.filter(isForOperator), operatorAddress, undefined)
        : undefined;
    const others = operator
      ? contexts.endpoints.filter((endpoint) => !isForOperator(endpoint))
      : contexts.endpoints;
    const server = isApi ? await serve(others, { host, port }, config.publicOrigin) : undefined;
    ownOrigin = server?.url;
    if (server && !operator && !isLoopback(host)) {
      logger.warn({ host }, 'others than this machine can reach the operator routes (COFFER_OPERATOR_PORT)');
    }
    const systemPort = isApi ? undefined : config.systemPort;
    const system =
      systemPort === undefined ? undefined : await serve([], { host, port: systemPort }, undefined);
    const service: Service = {
      url: server?.url,
      operatorUrl: operator?.url ?? server?.url,
      systemUrl: system?.url,
      storeGatewayPort: gateway?.port,
      stop,
    };
    await options.beforeReady?.(service);
    isStarted = true;
    return service;

    /** Its clients see the log as it lies there. */
    async function openGateway() {
      if (!config.storeGateway) return undefined;
      const gatewayStore = gatewayStoreOf(store.whole, databaseUrl);
      stops.push(() => gatewayStore.close());
      const opened = await startStoreGateway({ ...options, store: gatewayStore, isBusy: appends.isBusy });
      if (opened) stops.push(() => opened.stop());
      return opened;
    }

    /** Without endpoints it serves health and metrics alone. */
    async function serve(
      endpoints: readonly Endpoint[],
      address: { readonly host: string; readonly port: number },
      publicOrigin: string | undefined,
    ): Promise<RunningServer> {
      let listening: string | undefined;
      const app = createApp({
        endpoints,
        catalog,
        errorOf,
        resolveKey: contexts.keyring.resolveKey,
        resolveSession: contexts.signInSessions.resolveSession,
        allowedOrigins: contexts.allowedOrigins,
        isOperatorToken: operatorTokenCheck(options.operatorToken),
        logger,
        metrics,
        readiness: () => readinessOf({ pool, store, headAtStart, consumers, isApi, isStarted }),
        version: VERSION,
        origin: () => publicOrigin ?? listening,
        trustProxy: config.trustProxy,
        rateLimits: rateLimitsOf(config),
        maxConcurrentRequests: config.maxConcurrentRequests,
        requestTimeoutMs: config.requestTimeoutMs,
        openMetrics: config.metricsPublic,
        ...(options.onUndeclared && { onUndeclared: options.onUndeclared }),
      });
      const running = await startServer(app, { ...address, logger });
      listening = running.url;
      servers.push(running);
      return running;
    }
  } catch (error) {
    await stop();
    throw error;
  }
}

const isForOperator = ({ credential }: Endpoint): boolean => credential === 'operator';

function operatorTokenCheck(operatorToken: string): (token: string) => boolean {
  const expected = Buffer.from(operatorToken);
  return (token) => {
    const given = Buffer.from(token);
    return given.length === expected.length && timingSafeEqual(given, expected);
  };
}
