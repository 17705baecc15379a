/** A gateway with real clients for specs, and what is told to a subscriber. */
import type { EventStore } from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import {
  type AllStreamResolvedEvent,
  type AllStreamSubscription,
  EventStoreDBClient,
  type JSONEventType,
  jsonEvent,
  type Position,
  type RecordedEvent,
  type ResolvedEvent,
  type StreamSubscription,
} from '@eventstore/db-client';
import { createStoreGateway, type StoreGatewayOptions } from './index.ts';

export const credentials = { user: 'coffer', password: 'the password of these specs' };

export interface World {
  readonly store: EventStore;
  readonly port: number;
  readonly client: EventStoreDBClient;
  /** Another client of the same gateway. */
  another(parameters?: string, userInfo?: string): EventStoreDBClient;
  /** One that asks by gossip where the leader is. */
  discovering(): EventStoreDBClient;
  stopGateway(): Promise<void>;
  close(): Promise<void>;
}

/** A gateway over a store in memory, unless the options have one, which whoever made it closes. */
export async function openWorld(options: Partial<StoreGatewayOptions> = {}): Promise<World> {
  const store = options.store ?? createMemoryEventStore();
  const gateway = await createStoreGateway({
    store,
    host: '127.0.0.1',
    port: 0,
    credentials,
    allowWrites: true,
    ...options,
  });
  const clients: EventStoreDBClient[] = [];
  const connect = (address: string): EventStoreDBClient => {
    const client = EventStoreDBClient.connectionString(address);
    clients.push(client);
    return client;
  };
  const another = (parameters = 'tls=false', userInfo = '') =>
    connect(`esdb://${userInfo}127.0.0.1:${gateway.port}?${parameters}`);
  return {
    store,
    port: gateway.port,
    client: another(),
    another,
    discovering: () => connect(`esdb+discover://127.0.0.1:${gateway.port}?tls=false&maxDiscoverAttempts=1`),
    stopGateway: gateway.stop,
    async close() {
      await Promise.all(clients.map((client) => client.dispose()));
      await gateway.stop();
      if (!options.store) await store.close();
    },
  };
}

export const happened = (what: unknown, id?: string) =>
  jsonEvent({ ...(id === undefined ? {} : { id }), type: 'Happened', data: { what: `${what}` } });

/** So many of them: `numbers(3)` are 0, 1 and 2. */
export const numbers = (count: number, first = 0) =>
  Array.from({ length: count }, (_, index) => first + index);

export const happenedTimes = (count: number) => numbers(count).map((number) => happened(number));

/** The events read; fails as the read does. */
export async function eventsOf(
  read: AsyncIterable<ResolvedEvent | AllStreamResolvedEvent>,
): Promise<RecordedEvent<JSONEventType>[]> {
  const events: RecordedEvent<JSONEventType>[] = [];
  for await (const { event } of read) if (event?.isJson) events.push(event);
  return events;
}

export const revisionsOf = (events: readonly { readonly revision: bigint }[]) =>
  events.map(({ revision }) => Number(revision));

/** The numbers of the positions, which are the same in both halves of the pair. */
export const positionsOf = (events: readonly { readonly position?: Position | undefined }[]) =>
  events.map(({ position }) =>
    position?.commit === position?.prepare ? Number(position?.commit) : undefined,
  );

export const at = (position: number): Position => ({ commit: BigInt(position), prepare: BigInt(position) });

/** Notes what a subscription is told, in order, and can be waited for. */
export function watch(subscription: StreamSubscription | AllStreamSubscription) {
  const told: (RecordedEvent | 'confirmation' | 'caughtUp' | 'fellBehind' | Error)[] = [];
  let change = Promise.withResolvers<void>();
  const note = (entry: (typeof told)[number]): void => {
    told.push(entry);
    const { resolve } = change;
    change = Promise.withResolvers<void>();
    resolve();
  };
  // Both kinds have the same listeners.
  const listened = subscription as StreamSubscription;
  listened.on('confirmation', () => note('confirmation'));
  listened.on('caughtUp', () => note('caughtUp'));
  listened.on('fellBehind', () => note('fellBehind'));
  listened.on('error', note);
  listened.on('data', ({ event }) => {
    if (event) note(event);
  });
  const isEvent = (entry: (typeof told)[number]): entry is RecordedEvent =>
    typeof entry !== 'string' && !(entry instanceof Error);
  return {
    told,
    events: () => told.filter(isEvent),
    error: () => told.find((entry) => entry instanceof Error),
    async until(isReached: () => boolean): Promise<void> {
      while (!isReached()) await change.promise;
    },
    stop: () => subscription.unsubscribe(),
  };
}
