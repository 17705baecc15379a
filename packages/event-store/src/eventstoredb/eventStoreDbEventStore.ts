/** The event store on EventStoreDB or KurrentDB, for installations that outgrow one machine. ADR 0014. */
import type { EventStore, SubscribeOptions } from '../port.ts';
import { type QueueLimits, queueLimits } from '../queueLimits.ts';
import { addressFrom } from './address.ts';
import { createAppender } from './appender.ts';
import { createClients } from './clients.ts';
import { createCluster } from './cluster.ts';
import { guarded } from './guardedClient.ts';
import { createLimiter } from './limiter.ts';
import { createLogReader } from './logReader.ts';
import { shareSubscription } from './sharedSubscription.ts';
import { subscription } from './subscription.ts';
import { comparePositions, parsePosition } from './wire.ts';

export interface EventStoreDbEventStoreOptions extends QueueLimits {
  /** `esdb://…` or `esdb+discover://…`, with nodes, credentials and TLS as the client's documentation has them. */
  readonly connectionString: string;
  /** After this long without an answer, an append or a read makes the cluster look for the leader. Default 2,000. */
  readonly patienceMs?: number;
  /** After this long without an answer, the outcome of an append is unknown. Default 5,000. */
  readonly appendTimeoutMs?: number;
  /** A read that receives nothing for this long is retried. Default 5,000. */
  readonly readSilenceMs?: number;
  /** While a subscription receives nothing, the end of the log is checked this often. Default 15,000. */
  readonly watchMs?: number;
  /** Called for each problem after which a subscription restarts. */
  readonly onTrouble?: (message: string) => void;
}

/** By the server's default a connection carries 100 calls; more would wait invisibly. */
const MAX_READS_AT_ONCE = 96;
/** Subscriptions read over a separate connection, which a burst of commands does not fill. */
const MAX_WATCHING_READS_AT_ONCE = 8;

/** Connects on first use. Throws for a connection string that the client does not understand. */
export function createEventStoreDbEventStore(options: EventStoreDbEventStoreOptions): EventStore {
  const { connectionString, appendTimeoutMs = 5_000, readSilenceMs: silenceMs = 5_000 } = options;
  const patienceMs = Math.min(options.patienceMs ?? 2_000, appendTimeoutMs, silenceMs);
  const address = addressFrom(connectionString);
  // A setting that the client does not understand fails here.
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
    patienceMs,
    appendTimeoutMs,
    ...queueLimits(options),
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
      // An error of the listener must not end the subscription.
    }
  };
  const dependencies = {
    clients: following,
    reader: followingReader,
    silenceMs,
    watchMs: options.watchMs ?? 15_000,
    onTrouble,
  };
  const untilClosed = (subscribeOptions: SubscribeOptions): SubscribeOptions => ({
    ...subscribeOptions,
    signal: AbortSignal.any([subscribeOptions.signal, closing.signal]),
  });
  const follow = shareSubscription((subscribeOptions) =>
    subscription(dependencies, untilClosed(subscribeOptions)),
  );

  return {
    append: appender.append,
    heads: reader.heads,
    readStream: reader.readStream,
    readTails: reader.readTails,
    readAll: reader.readAll,
    head: reader.head,
    subscribeToAll: (subscribeOptions) => follow(untilClosed(subscribeOptions)),
    parsePosition,
    placeAt: reader.placeAt,
    comparePositions,
    // A position is a byte offset, so nobody can tell how many events lie between two positions.
    distance: (from, to) => (from === to ? 0 : undefined),
    async close() {
      closing.abort();
      await appender.close();
      await cluster.close();
      await Promise.all([clients.close(), following.close()]);
    },
  };
}
