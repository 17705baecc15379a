/** A database with a log in it, and relays of it. Called in a `describe`: each test has its own, with its own topics. */
import { randomUUID } from 'node:crypto';
import {
  type Consumer,
  type ConsumerAlarm,
  consumerMigrations,
  createConsumersTable,
} from '@coffer/consumers';
import { migrate, type Pool } from '@coffer/database';
import { type EventStore, ourLog, type RecordedEvent } from '@coffer/event-store';
import { createPostgresEventStore, logMigrations } from '@coffer/event-store/postgres';
import { encodeMetadata, newId } from '@coffer/kernel';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import type { FailureCode } from '../failures.ts';
import { type RelayOptions, startRelay } from '../relay.ts';
import type { KafkaSettings } from '../settings.ts';
import type { ToldEvent, ToldEvents } from '../toldEvents.ts';
import { type ReadMessage, readTopics } from './topicReader.ts';

const AT = '2026-01-02T03:04:05.678Z';
export const APP = newId('app');

/** What webhooks have told, in memory. */
interface ToldLog extends ToldEvents {
  /** Each with a text of this length. Their source is the first event of the session `a`. */
  readonly tell: (appId: string, environment: 'test' | 'live', count: number, textLength?: number) => void;
  readonly rewrite: (appId: string, sequence: number) => void;
  readonly cut: (appId: string, last: number) => void;
  /** As retention does, which should have kept what is not passed on. */
  readonly prune: (appId: string, last: number) => void;
  /** By app, up to where nothing need be kept any longer. */
  readonly passed: ReadonlyMap<string, number>;
}

/** `inside` is where the topics are read. */
export function relayWorld(brokers: () => string, inside = brokers) {
  let database: TestDatabase;
  let store: EventStore;
  let prefix: string;
  let told: ToldLog;
  let running: Consumer[];
  const alarms: ConsumerAlarm[] = [];
  const failures: FailureCode[] = [];
  const troubles: string[] = [];

  beforeEach(async () => {
    database = await createTestDatabase({ name: 'kafka relay', prepare });
    store = openLog(database.connectionString);
    prefix = `spec-${randomUUID().slice(0, 8)}`;
    told = toldLog(store);
    running = [];
    alarms.length = 0;
    failures.length = 0;
    troubles.length = 0;
  });
  afterEach(async () => {
    await Promise.all(running.map((relay) => relay.stop()));
    await store.close();
    await database.drop();
  });

  const settings = (more: Partial<KafkaSettings> = {}): KafkaSettings => ({
    brokers: [brokers()],
    tls: undefined,
    sasl: undefined,
    topicPrefix: prefix,
    create: { partitions: 3, replicas: undefined },
    ...more,
  });

  return {
    alarms,
    failures,
    troubles,
    settings,
    get pool() {
      return database.pool;
    },
    get databaseUrl() {
      return database.connectionString;
    },
    get store() {
      return store;
    },
    get prefix() {
      return prefix;
    },
    get told() {
      return told;
    },
    start(more: Partial<RelayOptions> = {}): Consumer {
      const relay = startRelay({
        settings: settings(),
        toldEvents: told,
        pool: database.pool,
        store: ourLog(store),
        onAlarm: (alarm) => alarms.push(alarm),
        onTrouble: ({ error }) => troubles.push(String(error)),
        observer: {
          onConnected() {},
          onPublished() {},
          onFailure: ({ code }) => failures.push(code),
        },
        minPageIntervalMs: 0,
        standbyPollMs: 5,
        firstRetryMs: 5,
        ...more,
      });
      running.push(relay);
      return relay;
    },
    append: (stream: string, count: number, data?: string) => append(store, stream, count, data),
    /** The log, once all of it is in the topics; throws if they do not agree. */
    async expectTopicsToEqualLog(): Promise<readonly ReadMessage[]> {
      const log = await wholeLog(store);
      const messages = await readTopics(
        inside(),
        factTopics(prefix, log),
        (read) => new Set(read.map(({ value }) => JSON.parse(value).id)).size >= log.length,
      );
      expectSameAsLog(messages, log);
      return messages;
    },
  };
}

const factTopics = (prefix: string, log: readonly RecordedEvent[]): ReadonlySet<string> =>
  new Set(
    log.map(
      ({ stream }) =>
        `${prefix}.${stream.slice(stream.indexOf('-') + 1, stream.indexOf('.'))}.${stream.slice(0, stream.indexOf('-'))}`,
    ),
  );

export const openLog = (connectionString: string): EventStore =>
  createPostgresEventStore({ connectionString, applicationName: 'spec log' });

export const sessionStream = (id: string, environment: 'test' | 'live' = 'test'): string =>
  `playSession-${environment}.${APP}.${id}`;

async function append(store: EventStore, stream: string, count: number, data?: string): Promise<void> {
  await store.append({
    stream,
    expectedRevision: 'any',
    events: Array.from({ length: count }, (_, number) => ({
      id: randomUUID(),
      type: 'BetPlaced',
      data: data ?? JSON.stringify({ transactionUuid: randomUUID(), amount: String(number), balance: '1' }),
      metadata: encodeMetadata({ correlationId: 'r', actor: 'operator', occurredAt: AT }, 1),
    })),
  });
}

export async function wholeLog(store: EventStore): Promise<readonly RecordedEvent[]> {
  const log: RecordedEvent[] = [];
  for await (const page of store.readAll()) log.push(...page);
  return log;
}

/** Each event once, with its stored data and its number in the log; each stream in one partition, in order. */
function expectSameAsLog(messages: readonly ReadMessage[], log: readonly RecordedEvent[]): void {
  if (messages.length !== log.length) {
    throw new Error(`The topics hold ${messages.length} messages, the log ${log.length} events.`);
  }
  const ofStream = Map.groupBy(messages, ({ key }) => key);
  const next = new Map<string, number>();
  for (const [index, { id, stream, revision, data }] of log.entries()) {
    const at = next.get(stream) ?? 0;
    next.set(stream, at + 1);
    const message = ofStream.get(stream)?.[at];
    const event = message && JSON.parse(message.value);
    const isSame =
      event?.id === id &&
      event.revision === revision &&
      event.ordinal === String(index + 1) &&
      JSON.stringify(event.data) === JSON.stringify(JSON.parse(data)) &&
      message?.partition === ofStream.get(stream)?.[0]?.partition;
    if (!isSame) throw new Error(`Event ${revision} of ${stream} is not its number ${at}: ${message?.value}`);
  }
}

type InMemory = Omit<ToldEvent, 'bytesAfter'> & { readonly text: string };

function toldLog(store: EventStore): ToldLog {
  const apps = new Map<string, InMemory[]>();
  const pruned = new Map<string, number>();
  const passed = new Map<string, number>();
  const keptOf = (appId: string) =>
    (apps.get(appId) ?? []).filter(({ sequence }) => sequence > (pruned.get(appId) ?? 0));
  const passOn = (places: readonly { readonly appId: string; readonly sequence: number }[]) => {
    for (const { appId, sequence } of places) passed.set(appId, sequence);
  };
  return {
    tell(appId, environment, count, textLength = 0) {
      const events = apps.get(appId) ?? [];
      apps.set(appId, events);
      for (let number = 0; number < count; number++) {
        const sequence = events.length + 1;
        const eventId = newId('evt');
        const text = 'x'.repeat(textLength);
        const type = 'user.created';
        events.push({ appId, environment, sequence, eventId, type, createdAt: new Date(AT), text });
      }
    },
    rewrite(appId, sequence) {
      const events = apps.get(appId) ?? [];
      apps.set(
        appId,
        events.map((event) => (event.sequence === sequence ? { ...event, eventId: newId('evt') } : event)),
      );
    },
    cut: (appId, last) => void apps.set(appId, (apps.get(appId) ?? []).slice(0, last)),
    prune: (appId, last) => void pruned.set(appId, last),
    passed,
    lasts: async () =>
      [...apps].map(([appId, { length }]) => ({
        appId,
        sequence: length,
        prunedSequence: pruned.get(appId) ?? 0,
      })),
    after: async (places, limit) =>
      places.flatMap(({ appId, sequence }) =>
        keptOf(appId)
          .filter((event) => event.sequence > sequence)
          .slice(0, limit)
          .map(({ text, ...event }) => ({
            ...event,
            bytesAfter: (previousSequence: number | null) =>
              Buffer.from(
                JSON.stringify({ id: event.eventId, sequence: event.sequence, previousSequence, text }),
              ),
          })),
      ),
    idsAt: async (places) =>
      new Map(
        places.flatMap(({ appId, sequence }) => {
          const event = keptOf(appId).find((one) => one.sequence === sequence);
          return event ? [[appId, event.eventId] as const] : [];
        }),
      ),
    async keepOnlyAfter(places) {
      passed.clear();
      passOn(places);
    },
    passedOn: async (places) => passOn(places),
    async sourceOf() {
      const [[first] = []] = await store.readTails([{ stream: sessionStream('a'), fromRevision: 0 }], 1);
      if (!first) throw new Error('The session has no event.');
      return first;
    },
  };
}

async function prepare(pool: Pool): Promise<void> {
  await migrate(pool, [logMigrations]);
  await pool.query('create schema if not exists records');
  await createConsumersTable(pool, 'records');
  await migrate(pool, [consumerMigrations]);
}
