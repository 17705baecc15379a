/** The configured event store: the log in Postgres, or an external EventStoreDB. */
import { type EventStore, type OurLog, ourLog } from '@coffer/event-store';
import { createPostgresEventStore } from '@coffer/event-store/postgres';
import type { Logger } from '@coffer/http';
import { type Config, ConfigurationError } from './config.ts';

/** Throws a `ConfigurationError` for an invalid EventStoreDB address. */
export async function openEventStore({
  wrap = (store) => store,
  ...options
}: OpenOptions & {
  /** For specs: wraps the service's event store. */
  readonly wrap?: ((store: EventStore) => EventStore) | undefined;
}): Promise<OurLog> {
  return ourLog(wrap(await openWhole(options)));
}

/** The log for the store gateway: appends share the service's connections, reads use a few of their own. */
export function gatewayStoreOf(store: EventStore, connectionString: string): EventStore {
  const reads = createPostgresEventStore({
    connectionString,
    applicationName: 'coffer-gateway',
    readConnections: 2,
  });
  return { ...reads, append: store.append };
}

/** Tells whether the service has appended something in the last moment: bets do so all the time. */
export function watchAppends(nowMs: () => number) {
  let lastMs = -Infinity;
  return {
    isBusy: () => nowMs() - lastMs < APPENDED_LATELY_MS,
    watching: (store: EventStore): EventStore => ({
      ...store,
      append(request) {
        lastMs = nowMs();
        return store.append(request);
      },
    }),
  };
}
const APPENDED_LATELY_MS = 250;

interface OpenOptions {
  readonly config: Pick<Config, 'eventStoreUrl'>;
  readonly databaseUrl: string;
  readonly logger: Logger;
}

async function openWhole({ config, databaseUrl, logger }: OpenOptions): Promise<EventStore> {
  const { eventStoreUrl } = config;
  if (eventStoreUrl === undefined) {
    return createPostgresEventStore({ connectionString: databaseUrl, applicationName: 'coffer-log' });
  }
  // Loaded only if needed.
  const { createEventStoreDbEventStore } = await import('@coffer/event-store/eventstoredb');
  try {
    return createEventStoreDbEventStore({
      connectionString: eventStoreUrl,
      onTrouble: (reason) => logger.warn({ reason }, 'a subscription to the log begins again'),
    });
  } catch (cause) {
    // The client's own message may quote the password.
    throw new ConfigurationError(
      'The configuration is wrong:\n  EVENTSTORE_URL: not a connection string of EventStoreDB, or its files are not there',
      { cause },
    );
  }
}
