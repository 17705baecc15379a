/**
 * Tells readers about new events: at once for appends of this process, by notifications for those of others. A lost
 * notification only delays readers until the next poll.
 */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { endClient } from './ending.ts';

export interface Wakeups {
  /** The number of wake-ups so far. Read it before reading the log, so that none is missed. */
  readonly count: number;
  /** Resolves once there were more than `seen`, on timeout, or when the signal aborts. */
  moreThan(seen: number, atMostMs: number, signal: AbortSignal): Promise<void>;
  wake(): void;
  /** Starts listening to other processes; once is enough. */
  listen(): void;
  close(): Promise<void>;
}

const RECONNECT_MS = 1_000;
const CONNECT_TIMEOUT_MS = 5_000;

export function createWakeups(options: {
  readonly connectionString: string;
  readonly applicationName: string;
}): Wakeups {
  let count = 0;
  const sleepers = new Set<() => void>();
  const closing = new AbortController();
  let listening: Promise<void> | undefined;

  const wake = (): void => {
    count += 1;
    for (const rouse of [...sleepers]) rouse();
  };

  return {
    get count() {
      return count;
    },
    moreThan(seen, atMostMs, signal) {
      if (count > seen || signal.aborted) return Promise.resolve();
      // Everything that a sleep allocates is freed with it: a reader may sleep on an idle log for months.
      return new Promise((resolve) => {
        const rouse = (): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', rouse);
          sleepers.delete(rouse);
          resolve();
        };
        const timer = setTimeout(rouse, atMostMs);
        signal.addEventListener('abort', rouse);
        sleepers.add(rouse);
      });
    },
    wake,
    listen() {
      listening ??= listenUntilClosed();
    },
    async close() {
      closing.abort();
      wake();
      await listening;
    },
  };

  async function listenUntilClosed(): Promise<void> {
    while (!closing.signal.aborted) {
      const client = new pg.Client({
        connectionString: options.connectionString,
        application_name: `${options.applicationName}-listen`,
        keepAlive: true,
        connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
        query_timeout: CONNECT_TIMEOUT_MS,
      });
      const lost = Promise.withResolvers<void>();
      const closed = Promise.withResolvers<void>();
      // Whatever ends the connection ends the wait; the next round opens another.
      client.on('error', () => lost.resolve());
      client.on('end', () => lost.resolve());
      client.on('notification', wake);
      const onClose = () => closed.resolve();
      closing.signal.addEventListener('abort', onClose);
      try {
        await Promise.race([startListening(client), closed.promise]);
        wake();
        if (!closing.signal.aborted) await Promise.race([lost.promise, closed.promise]);
      } catch {
        // The store is away: readers notice by themselves, and polling continues.
      } finally {
        closing.signal.removeEventListener('abort', onClose);
        await endClient(client);
      }
      // Also after a connection that opened: a server that closes each at once is not asked without a pause.
      await delay(RECONNECT_MS, undefined, { signal: closing.signal }).catch(() => undefined);
    }
  }
}

async function startListening(client: pg.Client): Promise<void> {
  await client.connect();
  await client.query('listen coffer_log');
}
