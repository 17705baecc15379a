/**
 * The threads of a service besides the main one: one for all that reads the log, and, on machines with the cores for it,
 * further ones that serve the API at the same port. Source: ADR 0044.
 */
import assert from 'node:assert/strict';
import { performance } from 'node:perf_hooks';
import { portsBetween } from '@coffer/event-store';
import type { ApiThreads, Host } from '@coffer/host';
import type { Logger, MetricFigures } from '@coffer/http';
import type { Environment } from '@coffer/kernel';
import type { MasterKey } from '@coffer/wallets';
import type { EventLoop } from './memoryAtRest.ts';
import {
  type MainThread,
  openServiceThread,
  type ServiceThread,
  type ThreadOptions,
} from './serviceThread.ts';
import { openYielding } from './yielding.ts';

export interface ThreadsOptions {
  readonly hasBackground: boolean;
  /** The main thread included; 0 if this process does not serve the API. */
  readonly apiThreads: number;
  /** Undefined until it listens. */
  readonly main: () => MainService | undefined;
  readonly makeNextMasterKey: (environment: Environment) => Promise<MasterKey>;
  readonly logger: Logger;
  /** One has ended by itself. */
  readonly onFailed: (error: unknown) => void;
}

/** What the main thread has that the others ask for. */
export type MainService = Pick<Host, 'takeToken' | 'metrics' | 'forget'>;

export interface Threads {
  /** The main thread's place among those that serve the API; undefined if it serves alone. */
  readonly ofMain: ApiThreads | undefined;
  /** Of the main thread and of the others that serve the API. */
  readonly loops: readonly EventLoop[];
  readonly startBackground: (options: ThreadOptions) => Promise<void>;
  /** Once the main thread listens: the others take the same port. */
  readonly startApi: (
    options: Omit<ThreadOptions, 'roles' | 'api'>,
    main: { readonly port: number; readonly makesMasterKeys: boolean },
  ) => Promise<void>;
  /** Of all but the main thread. */
  readonly metrics: () => Promise<readonly MetricFigures[]>;
  /** To all threads that hold keys. */
  readonly addMasterKey: (key: MasterKey) => Promise<void>;
  readonly stopApi: () => Promise<void>;
  readonly stopBackground: () => Promise<void>;
}

export function openThreads(options: ThreadsOptions): Threads {
  const { hasBackground, apiThreads, main: mainService, makeNextMasterKey, logger, onFailed } = options;
  const yielding = openYielding(logger);
  const requestsInFlight = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const ports = portsBetween(apiThreads);
  const placeOf = (index: number) => ({ index, ports: ports[index] ?? [] });
  const background = hasBackground ? open('background') : undefined;
  const ofApi = Array.from({ length: Math.max(0, apiThreads - 1) }, (_, at) => open(`api-${at + 2}`));
  const all = [...ofApi, ...(background ? [background] : [])];

  return {
    ofMain: ofApi.length === 0 ? undefined : { place: placeOf(0), requestsInFlight },
    loops: [performance, ...ofApi.map(({ loop }) => loop)],
    async startBackground(options) {
      await background?.start(options);
    },
    async startApi(options, main) {
      const start = (thread: ServiceThread, at: number) =>
        thread.start({
          ...options,
          roles: ['api'],
          api: { place: placeOf(at + 1), requestsInFlight, ...main },
        });
      await Promise.all(ofApi.map(start));
    },
    metrics: () => metricsOf(all),
    async addMasterKey(key) {
      await Promise.all(all.map((thread) => thread.addMasterKey(key)));
    },
    async stopApi() {
      await Promise.all(ofApi.map((thread) => thread.stop()));
    },
    async stopBackground() {
      await yielding.end();
      await background?.stop();
    },
  };

  function open(name: 'background' | `api-${number}`): ServiceThread {
    const main: MainThread = {
      async takeToken([limit, key]) {
        const service = mainService();
        assert(service, 'threads of the API start after the main one');
        return service.takeToken(limit, key);
      },
      async metricsOfOthers() {
        const others = await metricsOf(all.filter((one) => one !== thread));
        const service = mainService();
        return service ? [await service.metrics(), ...others] : others;
      },
      makeNextMasterKey,
    };
    const thread = openServiceThread({
      name,
      main,
      onFailed,
      onLogRewritten() {
        mainService()?.forget();
        for (const one of all) if (one !== thread) void one.forget();
      },
      onUpToDate: yielding.isUpToDate,
    });
    return thread;
  }
}

async function metricsOf(threads: readonly ServiceThread[]): Promise<readonly MetricFigures[]> {
  return (await Promise.all(threads.map((thread) => thread.metrics()))).flat();
}
