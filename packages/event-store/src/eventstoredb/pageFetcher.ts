/** One page as one call to the server, read to its end and retried on failure. */
import { setTimeout as delay } from 'node:timers/promises';
import type { RecordedEvent as ClientEvent, EventStoreDBClient, ResolvedEvent } from '@eventstore/db-client';
import { StoreAbsentError, StoreUnreachableError } from '../errors.ts';
import type { Clients, Connection } from './clients.ts';
import { explained, isNotFound, isNotLeader, refusalOf } from './failures.ts';
import { batchesOf } from './inlet.ts';
import type { Limiter } from './limiter.ts';

export interface PageFetcherOptions {
  readonly clients: Clients;
  /** Bounds the simultaneous calls. */
  readonly limiter: Limiter;
  /** After this long without data, a read makes the cluster look for the leader. */
  readonly patienceMs: number;
  /** After this long it is given up. */
  readonly silenceMs: number;
}

export const PAGE_SIZE = 500;
/** A page that cannot be read is retried after these delays. */
const RETRY_DELAYS_MS = [20, 200];

type Read = ReturnType<EventStoreDBClient['readStream']> | ReturnType<EventStoreDBClient['readAll']>;

export function createPageFetcher({ clients, limiter, patienceMs, silenceMs }: PageFetcherOptions) {
  return fetchPage;

  /** Everything one call yields; nothing for a stream that does not exist. */
  async function once(connection: Connection, open: (client: EventStoreDBClient) => Read) {
    let read: Read | undefined;
    try {
      read = open(connection.client);
      const events: ClientEvent[] = [];
      const { left } = connection;
      const onSilence = () => clients.silent(connection);
      const batches = { batchSize: PAGE_SIZE, patienceMs, onSilence, silenceMs, left };
      for await (const batch of batchesOf<ResolvedEvent>(read, batches)) {
        for (const { event } of batch) if (event) events.push(event);
      }
      return events;
    } catch (error) {
      if (isNotFound(error)) return [];
      clients.failed(connection, error);
      // The call may never have been made.
      read?.cancel().catch(() => undefined);
      throw error;
    }
  }

  /** Throws `StoreUnreachableError`. */
  async function fetchPage(
    what: string,
    open: (client: EventStoreDBClient) => Read,
  ): Promise<readonly ClientEvent[]> {
    for (let attempt = 0; ; attempt++) {
      // Fails at once when there is no leader, instead of queueing behind others.
      await clients.current();
      const release = await limiter.enter();
      try {
        return await once(await clients.current(), open);
      } catch (error) {
        if (error instanceof StoreAbsentError) throw error;
        const refusal = refusalOf(error, { read: what });
        if (refusal) throw refusal;
        const delayMs = RETRY_DELAYS_MS[attempt];
        if (delayMs === undefined) {
          throw new StoreUnreachableError(`The log cannot be read: ${explained(error)}`, { cause: error });
        }
        // If the error named another leader, the client has switched to it already.
        if (!isNotLeader(error)) await delay(delayMs);
      } finally {
        release();
      }
    }
  }
}
