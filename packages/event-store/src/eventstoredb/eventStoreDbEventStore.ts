/** The event store on EventStoreDB or KurrentDB, for installations that outgrow one machine. ADR 0014. */
import type { EventStore } from '../port.ts';
import { addressFrom } from './address.ts';
import { createAppender } from './appender.ts';
import { createClients } from './clients.ts';
import { createCluster } from './cluster.ts';
import { guarded } from './guardedClient.ts';
import { createLimiter } from './limiter.ts';
import { createLogReader } from './logReader.ts';
import { subscription } from './subscription.ts';
import { comparePositions, parsePosition } from './wire.ts';

export interface EventStoreDbEventStoreOptions {
  /** `esdb://…` or `esdb+discover://…`, with nodes, credentials and TLS as the client's documentation has them. */
  readonly connectionString: string;
  /** Appends that may wait. Default 10,000. */
  readonly maxQueuedAppends?: number;
  /** Their bytes. Default 64 MiB. */
  readonly maxQueuedBytes?: number;
  /** An append or a read that is not answered for so long asks all nodes who leads. Default 2,000. */
  readonly patienceMs?: number;
  /** After so long without an answer the outcome of an append is unknown. Default 5,000. */
  readonly appendTimeoutMs?: number;
  /** A read that hears nothing for so long is given up and made again. Default 5,000. */
  readonly readSilenceMs?: number;
  /** While a subscription hears nothing, the end of the log is looked at this often. Default 15,000. */
  readonly watchMs?: number;
  /** Told of each trouble after which a subscription begins again. */
  readonly onTrouble?: (message: string) => void;
}

/** A connection carries 100 calls at a time by the server's default; the others would wait where nobody sees them. */
const MAX_APPENDS_AT_ONCE = 48;
const MAX_READS_AT_ONCE = 48;
/** Those of subscriptions have a connection of their own, which a burst of commands does not fill. */
const MAX_WATCHING_READS_AT_ONCE = 8;

/** Connects when it is first used. Throws for a connection string that the client does not understand. */
export function createEventStoreDbEventStore(options: EventStoreDbEventStoreOptions): EventStore {
  const { connectionString, appendTimeoutMs = 5_000, readSilenceMs: silenceMs = 5_000 } = options;
  const patienceMs = Math.min(options.patienceMs ?? 2_000, appendTimeoutMs, silenceMs);
  const address = addressFrom(connectionString);
  // What the client does not understand is told at once.
  for (const node of address.seeds) void guarded(address.of(node)).end();
  const cluster = createCluster(address);
  const clients = createClients(address, cluster);
  const reader = createLogReader({
    clients,
    limiter: createLimiter(MAX_READS_AT_ONCE),
    patienceMs,
    silenceMs,
  });
  const appender = createAppender({
    clients,
    reader,
    limiter: createLimiter(MAX_APPENDS_AT_ONCE),
    patienceMs,
    appendTimeoutMs,
    maxQueuedAppends: options.maxQueuedAppends ?? 10_000,
    maxQueuedBytes: options.maxQueuedBytes ?? 64 * 1024 * 1024,
  });
  const following = createClients(address, cluster);
  const followingReader = createLogReader({
    clients: following,
    limiter: createLimiter(MAX_WATCHING_READS_AT_ONCE),
    patienceMs,
    silenceMs,
  });
  const closing = new AbortController();
  const onTrouble = (message: string): void => {
    try {
      options.onTrouble?.(message);
    } catch {
      // Trouble of the one who is told is no trouble of the subscription, which goes on.
    }
  };

  return {
    append: appender.append,
    heads: reader.heads,
    readStream: reader.readStream,
    readAll: reader.readAll,
    head: reader.head,
    subscribeToAll(subscribeOptions) {
      const dependencies = {
        clients: following,
        reader: followingReader,
        silenceMs,
        watchMs: options.watchMs ?? 15_000,
        onTrouble,
      };
      const signal = AbortSignal.any([subscribeOptions.signal, closing.signal]);
      return subscription(dependencies, { ...subscribeOptions, signal });
    },
    parsePosition,
    placeAt: reader.placeAt,
    comparePositions,
    // A position is a place in bytes: of two that differ nobody can tell how many events lie between.
    distance: (from, to) => (from === to ? 0 : undefined),
    async close() {
      closing.abort();
      await appender.close();
      await cluster.close();
      await Promise.all([clients.close(), following.close()]);
    },
  };
}
