/**
 * The client of EventStoreDB with guards around it, and replaced when it is of no use any more. What is guarded
 * against, and why so, is in ADR 0014; the names below are those of `@eventstore/db-client` 6.2.1.
 */
import { EventStoreDBClient } from '@eventstore/db-client';

export interface Clients {
  /** The client in use; made when there is none. */
  current(): EventStoreDBClient;
  /** Replaces the client, if it still is the one in use. What is under way on it comes to its own end. */
  discard(client: EventStoreDBClient): void;
  close(): Promise<void>;
}

/** What the guards take hold of inside the client. */
interface Internals {
  supports: (...asked: unknown[]) => Promise<boolean>;
  handleError: (...failed: unknown[]) => Promise<void>;
  createChannel: () => Promise<{ close(): void }>;
}

const DEFAULT_KEEP_ALIVE_MS = 10_000;
/** Clients with equal settings would share one connection, and a new one be given the broken connection again. */
let clientsMade = 0;

export function createClients(connectionString: string): Clients {
  // A connection string that cannot be used is told at once.
  let current: Guarded | undefined = guarded(connectionString);
  const ending = new Set<Promise<void>>();

  const end = (one: Guarded): void => {
    const ended = one.end().finally(() => ending.delete(ended));
    ending.add(ended);
  };

  return {
    current() {
      current ??= guarded(connectionString);
      return current.client;
    },
    discard(client) {
      if (current?.client !== client) return;
      end(current);
      current = undefined;
    },
    async close() {
      if (current) {
        await current.client.dispose();
        end(current);
      }
      current = undefined;
      await Promise.all(ending);
    },
  };
}

interface Guarded {
  readonly client: EventStoreDBClient;
  readonly end: () => Promise<void>;
}

function guarded(connectionString: string): Guarded {
  const client = EventStoreDBClient.connectionString(withOwnSettings(connectionString));
  // Instance properties of this very version, which the package pins and a spec holds in place.
  const internals = client as unknown as Internals;

  // Appends in batches share one table of waiting callers in the whole process: the failure of one connection is
  // told to all of them, and a reply that comes after that ends the process. Without batches each append is a call
  // of its own, and the client does not ask for the server's features, whose failure it would remember for ever.
  internals.supports = () => Promise.resolve(false);

  // It is called without being waited for, and waits for a channel that may fail to be made.
  const { handleError, createChannel } = internals;
  internals.handleError = (...failed) => handleError(...failed).catch(() => undefined);

  const channels: { close(): void }[] = [];
  internals.createChannel = async () => {
    const channel = await createChannel();
    channels.push(channel);
    return channel;
  };

  return {
    client,
    // The client ends calls, and lets the connection stand.
    end: async () => {
      for (const channel of channels) channel.close();
    },
  };
}

/** Failures are always thrown, for what the other way returns is wrong; and no two clients have equal settings. */
function withOwnSettings(connectionString: string): string {
  const asked = /[?&]keepAliveInterval=(\d+)/i.exec(connectionString)?.[1];
  clientsMade += 1;
  const keepAliveMs = Math.max(Number(asked ?? 0), DEFAULT_KEEP_ALIVE_MS) + (clientsMade % 1_000);
  const separator = connectionString.includes('?') ? '&' : '?';
  const base = connectionString.trim().replace(/\/+$/, '');
  return `${base}${separator}throwOnAppendFailure=true&keepAliveInterval=${keepAliveMs}`;
}
