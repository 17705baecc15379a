/** Runs contexts in one process; what it starts, it stops in reverse order. */
import type { Consumer } from '@coffer/consumers';
import type { Pool } from '@coffer/database';
import { anyTypeOf, createCommandHandler, divideCommands, type OurLog } from '@coffer/event-store';
import {
  countTokens,
  createMetricsRegistry,
  type Logger,
  type MetricFigures,
  type TakeToken,
} from '@coffer/http';
import { type Clock, createSecretBox, type FailPointName, systemClock } from '@coffer/kernel';
import type { ApiThreads } from './apiThreads.ts';
import { sharedConsumerOptions, startConsumers } from './consumers.ts';
import type { Platform } from './context.ts';
import type { Contexts } from './contexts.ts';
import { failPointFrom } from './failPoints.ts';
import { rateLimitsOf } from './rateLimits.ts';
import { readinessOf } from './readiness.ts';
import type { Role } from './roles.ts';
import { type Servers, type ServersConfig, type ServersOptions, startServers } from './servers.ts';
import { observeReturns, observeService } from './serviceMetrics.ts';
import { keptSnapshots } from './snapshots.ts';

export interface HostConfig extends ServersConfig {
  /** Approximate limit on the memory for cached stream states. */
  readonly cacheBytes: number;
  /** How long the process leaves the work that a request began to that request. */
  readonly reactionGraceMs: number;
  /** For crash specs. */
  readonly failPoint: FailPointName | undefined;
}

export interface HostOptions<Given>
  extends Pick<ServersOptions, 'operatorToken' | 'version' | 'metricsOfOthers' | 'onUndeclared'> {
  readonly contexts: Contexts<Given, object>;
  readonly given: Given;
  readonly config: HostConfig;
  readonly roles: readonly Role[];
  /** Remains open after the host has stopped. */
  readonly pool: Pool;
  /** The same, for statements without a bound. */
  readonly patientPool: Pool;
  /** Remains open after the host has stopped. */
  readonly store: OurLog;
  readonly secretsKey: Uint8Array;
  /** Undefined: no snapshots are kept or used. */
  readonly snapshotSecret: Uint8Array | undefined;
  readonly logger: Logger;
  /** For specs: the time of day. Default: the machine's. */
  readonly clock?: Clock | undefined;
  /** Runs once everything listens; nothing is ready until it has finished. */
  readonly beforeReady?: ((host: Host) => Promise<void>) | undefined;
  /** A reader of the log has found that it is another one. */
  readonly onLogRewritten?: (() => void) | undefined;
  /** Given if this is one of several threads that serve the API. */
  readonly threads?: ApiThreads | undefined;
}

/** When the process ends, states are saved for so long: a stop takes ten seconds at most. */
const MOST_SAVING_MS = 3_000;

export interface Host extends Servers {
  readonly metrics: () => Promise<MetricFigures>;
  /** Whether something that reads the log here does not keep up with it. */
  readonly isBehind: () => boolean;
  /** Drops what is cached of the log, since it is another one. */
  readonly forget: () => void;
  /** By the rate limits of this host; other threads ask it. */
  readonly takeToken: TakeToken;
}

export async function startHost<Given>(options: HostOptions<Given>): Promise<Host> {
  const { config, roles, pool, patientPool, store, secretsKey, logger, clock = systemClock } = options;
  const stops: (() => Promise<unknown> | undefined)[] = [];
  const stop = async () => {
    for (const stopOne of stops.splice(0).reverse()) await stopOne();
  };
  try {
    const registry = createMetricsRegistry(nameOf(options));
    const snapshots = keptSnapshots(options);
    const own = createCommandHandler({
      store,
      cacheBytes: config.cacheBytes,
      ...(snapshots && { snapshots: snapshots.store }),
      onSnapshotError: (error) => logger.warn({ err: error }, 'a snapshot was not kept or not used'),
      onReturn: observeReturns(registry),
    });
    stops.push(() => own.saveStates(MOST_SAVING_MS));
    const types = options.contexts.facts.streams.map((stream) => stream(anyTypeOf));
    const divided = options.threads && divideCommands(own, types, options.threads.place);
    if (divided) stops.push(divided.leave);
    const handler = divided ?? own;
    if (snapshots) stops.push(snapshots.sweepDaily());
    let ownOrigin: string | undefined;
    const platform: Omit<Platform, 'whole'> = {
      pool,
      patientPool,
      store,
      handler,
      snapshots: snapshots?.store,
      headAtStart: await store.head(),
      clock,
      failPoint: failPointFrom(config.failPoint),
      logger,
      registry,
      secretsKey,
      secretBox: createSecretBox(secretsKey),
      publicOrigin: config.publicOrigin,
      ownOrigin: () => ownOrigin,
    };
    const composition = options.contexts.create({ ...platform, ...options.given });
    const onLogRewritten = () => {
      // What was cached from a lost log must not answer for the current one.
      handler.forget();
      options.onLogRewritten?.();
    };
    const shared = sharedConsumerOptions({ ...platform, onLogRewritten }, composition);
    const consumers: Consumer[] = [];
    const interrupts: (() => void)[] = [];
    for (const { role, start } of composition.workers) {
      if (role !== undefined && !roles.includes(role)) continue;
      const worker = await start(shared);
      stops.push(worker.stop);
      if (worker.interrupt) interrupts.push(worker.interrupt);
      consumers.push(...(worker.consumers ?? []));
    }
    const ofRoles = await startConsumers(composition, shared, { ...config, roles });
    stops.push(() => Promise.all(ofRoles.map((consumer) => consumer.stop())));
    consumers.push(...ofRoles);
    observeService(registry, { handler, snapshots, consumers });

    let isStarted = false;
    const isApi = roles.includes('api');
    const { headAtStart } = platform;
    const takeToken =
      options.threads?.takeToken ?? countTokens(rateLimitsOf(config), () => performance.now());
    const servers = await startServers(composition, platform, {
      ...options,
      isApi,
      takeToken,
      readiness: () => readinessOf({ pool, store, headAtStart, consumers, isApi, isStarted }),
    });
    stops.push(servers.stop, () => {
      for (const interrupt of interrupts) interrupt();
    });
    ownOrigin = servers.url;
    const host: Host = {
      ...servers,
      metrics: () => platform.registry.getMetricsAsJSON(),
      isBehind: () => consumers.some((consumer) => consumer.isBehind()),
      forget: handler.forget,
      takeToken,
      stop,
    };
    await options.beforeReady?.(host);
    isStarted = true;
    return host;
  } catch (error) {
    await stop();
    throw error;
  }
}

/** As its metrics name it. */
function nameOf({ roles, threads }: Pick<HostOptions<never>, 'roles' | 'threads'>): string {
  if (!roles.includes('api')) return 'background';
  const index = threads?.place.index ?? 0;
  return index === 0 ? 'api' : `api-${index + 1}`;
}
