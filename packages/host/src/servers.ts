/** What a process serves: the API, operator routes at an address of their own, or health and metrics alone. */
import { timingSafeEqual } from 'node:crypto';
import {
  type AppOptions,
  createApp,
  type Endpoint,
  type MetricFigures,
  type Readiness,
  type RunningServer,
  startServer,
  type TakeToken,
  type TrustProxy,
} from '@coffer/http';
import type { ApiThreads } from './apiThreads.ts';
import type { Platform } from './context.ts';
import type { Composition } from './contexts.ts';
import { type RatesPerMinute, rateLimitsOf } from './rateLimits.ts';

/** How long requests in flight may take to finish after a SIGTERM. Source: architecture, Running it. */
const STOP_GRACE_MS = 8_000;

interface Address {
  readonly host: string;
  readonly port: number;
}

export interface ServersConfig extends Address, RatesPerMinute {
  /** Undefined: operator routes are served with the others. */
  readonly operatorAddress: Address | undefined;
  /** For health and metrics if this process does not serve the API; undefined: not served. */
  readonly systemPort: number | undefined;
  readonly publicOrigin: string | undefined;
  readonly trustProxy: TrustProxy;
  readonly maxConcurrentRequests: number;
  readonly requestTimeoutMs: number;
  readonly metricsPublic: boolean;
}

export interface ServersOptions {
  readonly config: ServersConfig;
  readonly isApi: boolean;
  readonly operatorToken: string;
  readonly version: string;
  readonly readiness: () => Promise<Readiness>;
  /** Of threads that do other parts of this service's work. */
  readonly metricsOfOthers?: (() => Promise<readonly MetricFigures[]>) | undefined;
  readonly onUndeclared?: AppOptions['onUndeclared'];
  readonly threads?: Pick<ApiThreads, 'place' | 'requestsInFlight'> | undefined;
  readonly takeToken: TakeToken;
}

/** Each `http://host:port`, without a path. */
export interface Servers {
  /** Undefined if this process does not serve the API. */
  readonly url: string | undefined;
  /** Of operator routes: the API's, unless they have an address of their own. */
  readonly operatorUrl: string | undefined;
  /** Undefined if the API serves health and metrics, or they are not served. */
  readonly systemUrl: string | undefined;
  readonly stop: () => Promise<void>;
}

export async function startServers(
  { endpoints, messages, catalog, errorOf, foundations }: Composition,
  { logger, registry: metrics }: Pick<Platform, 'logger' | 'registry'>,
  options: ServersOptions,
): Promise<Servers> {
  const { config, isApi, threads, takeToken } = options;
  const { host, port, operatorAddress, systemPort, publicOrigin } = config;
  const running: RunningServer[] = [];
  const stop = async () => {
    // Together, as they share the grace period.
    await Promise.all(running.map((server) => server.stop(STOP_GRACE_MS)));
  };
  const isOperatorToken = operatorTokenCheck(options.operatorToken);
  try {
    if (!isApi) {
      const system = systemPort === undefined ? undefined : await serve([], { host, port: systemPort });
      return { url: undefined, operatorUrl: undefined, systemUrl: system?.url, stop };
    }
    const isFirst = (threads?.place.index ?? 0) === 0;
    const apart =
      operatorAddress && isFirst ? await serve(endpoints.filter(isForPortal), operatorAddress) : undefined;
    const others = operatorAddress ? endpoints.filter((endpoint) => !isForOperator(endpoint)) : endpoints;
    const { url } = await serve(others, { host, port, reusePort: threads !== undefined }, publicOrigin);
    return { url, operatorUrl: apart?.url ?? url, systemUrl: undefined, stop };
  } catch (error) {
    await stop();
    throw error;
  }

  /** Without endpoints it serves health and metrics alone. */
  async function serve(
    served: readonly Endpoint[],
    address: Address & { readonly reusePort?: boolean },
    origin?: string,
  ): Promise<RunningServer> {
    let listening: string | undefined;
    const { trustProxy, maxConcurrentRequests, requestTimeoutMs, metricsPublic } = config;
    const { version, readiness, metricsOfOthers, onUndeclared } = options;
    const app = createApp({
      endpoints: served,
      messages,
      catalog,
      errorOf,
      resolveKey: foundations.resolveKey ?? nobody,
      resolveSession: foundations.resolveSession ?? nobody,
      allowedOrigins: foundations.allowedOrigins ?? NO_ORIGINS,
      isOperatorToken,
      operatorAt: served.some(isForOperator) ? foundations.operatorAt : undefined,
      logger,
      metrics,
      readiness,
      version,
      origin: () => origin ?? listening,
      trustProxy,
      rateLimits: rateLimitsOf(config),
      takeToken,
      maxConcurrentRequests,
      requestTimeoutMs,
      openMetrics: metricsPublic,
      ...(metricsOfOthers && { metricsOfOthers }),
      ...(onUndeclared && { onUndeclared }),
      ...(threads && { requestsInFlight: threads.requestsInFlight }),
    });
    const server = await startServer(app, { ...address, logger });
    listening = server.url;
    running.push(server);
    return server;
  }
}

const nobody = () => undefined;
const NO_ORIGINS = { ofApp: () => false, ofAnyApp: () => false };

/** Whoever reaches the admin API uses the portal's sessions there as well. */
const isForPortal = (endpoint: Endpoint): boolean =>
  isForOperator(endpoint) || endpoint.credential === 'portal';

const isForOperator = ({ credential }: Endpoint): boolean => credential === 'operator';

function operatorTokenCheck(operatorToken: string): (token: string) => boolean {
  const expected = Buffer.from(operatorToken);
  return (token) => {
    const given = Buffer.from(token);
    return given.length === expected.length && timingSafeEqual(given, expected);
  };
}
