/** A log in memory behind the protocol of EventStoreDB, and stores that reach it through an unreliable network. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createStoreGateway, type StoreGateway, type StoreGatewayOptions } from '@coffer/store-gateway';
import { StoreAbsentError } from '../errors.ts';
import { createEventStoreDbEventStore, type EventStoreDbEventStoreOptions } from '../eventstoredb/index.ts';
import {
  type AppendFault,
  createMemoryEventStore,
  createMemoryLog,
  type MemoryLog,
} from '../memory/index.ts';
import type { AppendRequest, EventStore } from '../port.ts';
import { createFaultProxy, type FaultProxy } from './faultProxy.ts';

export interface World {
  readonly log: MemoryLog;
  /** The log without a network in between. */
  readonly served: EventStore;
  readonly proxy: FaultProxy;
  readonly port: number;
  /** The problems that the subscriptions of all stores have reported. */
  readonly troubles: readonly string[];
  /** Another store on the log; through the proxy unless a connection string says otherwise. */
  open(options?: Partial<EventStoreDbEventStoreOptions>): EventStore;
  /** Called for the next append that arrives, before it is written; only once. */
  onNextAppend(then: (request: AppendRequest) => AppendFault | Promise<AppendFault>): void;
  /** Stops the server and starts it again on the same port. */
  restart(): Promise<void>;
  stopServer(): Promise<void>;
  startServer(): Promise<void>;
  close(): Promise<void>;
}

export interface WorldOptions extends Partial<StoreGatewayOptions> {
  /** Goes between the server and the log. */
  readonly wrap?: (store: EventStore) => EventStore;
}

/** Retries until some node leads again. */
export async function onceServed<Result>(call: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof StoreAbsentError)) throw error;
      await nextTurn();
    }
  }
}

export const CREDENTIALS = { user: 'coffer', password: 'the password of these specs' };

export async function openWorld({ wrap, ...gatewayOptions }: WorldOptions = {}): Promise<World> {
  const log = createMemoryLog();
  let next: Parameters<World['onNextAppend']>[0] | undefined;
  const served = createMemoryEventStore({
    log,
    faults: (request) => {
      const then = next;
      next = undefined;
      return then?.(request) ?? undefined;
    },
  });
  let gateway: StoreGateway | undefined;
  let port = 0;
  const startServer = async (): Promise<void> => {
    const store = wrap?.(served) ?? served;
    const common = { store, host: '127.0.0.1', credentials: CREDENTIALS, allowWrites: true };
    gateway = await createStoreGateway({ ...common, ...gatewayOptions, port });
    port = gateway.port;
  };
  const stopServer = async (): Promise<void> => {
    await gateway?.stop();
    gateway = undefined;
  };
  await startServer();
  const proxy = await createFaultProxy(port);
  const stores: EventStore[] = [];
  const troubles: string[] = [];
  return {
    log,
    served,
    proxy,
    port,
    troubles,
    open(options = {}) {
      const store = createEventStoreDbEventStore({
        connectionString: `esdb://127.0.0.1:${proxy.port}?tls=false`,
        onTrouble: (message) => troubles.push(message),
        ...options,
      });
      stores.push(store);
      return store;
    },
    onNextAppend(then) {
      next = then;
    },
    async restart() {
      await stopServer();
      await startServer();
    },
    stopServer,
    startServer,
    async close() {
      proxy.release();
      await Promise.all(stores.map((store) => store.close()));
      await proxy.close();
      await stopServer();
      await served.close();
    },
  };
}
