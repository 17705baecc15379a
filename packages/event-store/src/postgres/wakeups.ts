/**
 * Tells readers that there is something new: at once for appends of this process, by one notification a batch
 * for those of others. Losing one only costs the time to the next poll.
 */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

export interface Wakeups {
  /** Resolves at the next wake-up after this call. */
  next(): Promise<void>;
  wake(): void;
  /** Begins to listen to other processes; once is enough. */
  listen(): void;
  close(): Promise<void>;
}

const RECONNECT_MS = 1_000;

export function createWakeups(options: {
  readonly connectionString: string;
  readonly applicationName: string;
}): Wakeups {
  let waiting = Promise.withResolvers<void>();
  const closing = new AbortController();
  let listening: Promise<void> | undefined;

  const wake = (): void => {
    const woken = waiting;
    waiting = Promise.withResolvers<void>();
    woken.resolve();
  };

  return {
    next: () => waiting.promise,
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
      });
      const lost = Promise.withResolvers<void>();
      // Whatever ends the connection ends the wait; the next round makes another one.
      client.on('error', () => lost.resolve());
      client.on('end', () => lost.resolve());
      client.on('notification', wake);
      const onClose = () => lost.resolve();
      closing.signal.addEventListener('abort', onClose);
      try {
        await client.connect();
        await client.query('listen coffer_log');
        wake();
        if (!closing.signal.aborted) await lost.promise;
      } catch {
        // The store is away: readers notice by themselves, and polling goes on meanwhile.
        await delay(RECONNECT_MS, undefined, { signal: closing.signal }).catch(() => undefined);
      } finally {
        closing.signal.removeEventListener('abort', onClose);
        await client.end().catch(() => undefined);
      }
    }
  }
}
