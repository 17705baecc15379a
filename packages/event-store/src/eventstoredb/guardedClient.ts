/**
 * The client of EventStoreDB, of one node, with guards around it. What is guarded against, and why so, is in
 * ADR 0014; the names below are those of `@eventstore/db-client` 6.2.1.
 */
import { EventStoreDBClient } from '@eventstore/db-client';
import type { UsersClient } from '@eventstore/db-client/generated/users_grpc_pb.js';

export interface Guarded {
  readonly client: EventStoreDBClient;
  /** Another service of the node, over the client's own connection. */
  readonly stubOf: <Stub>(Service: new (...args: never[]) => Stub, name: string) => Promise<Stub>;
  /** What goes with a call of such a service: the credentials of the connection string. */
  readonly callArguments: () => CallArguments;
  /** Lets go of its connections. What is under way on them comes to its own end. */
  readonly end: () => Promise<void>;
}

type CallArguments = readonly [
  metadata: Parameters<UsersClient['create']>[1],
  options: Parameters<UsersClient['create']>[2],
];

/** What the guards take hold of inside the client. */
interface Internals {
  getGRPCClient: Guarded['stubOf'];
  callArguments: (options: object) => CallArguments;
  supports: (...asked: unknown[]) => Promise<boolean>;
  handleError: (...failed: unknown[]) => Promise<void>;
  createChannel: () => Promise<{ close(): void }>;
}

const DEFAULT_KEEP_ALIVE_MS = 10_000;
/** Clients with equal settings would share one connection, and a new one be given the broken connection again. */
let clientsMade = 0;

export function guarded(connectionString: string): Guarded {
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
    callArguments: () => internals.callArguments({}),
    stubOf: (Service, name) => internals.getGRPCClient(Service, name),
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
  return `${connectionString}${separator}throwOnAppendFailure=true&keepAliveInterval=${keepAliveMs}`;
}
