/**
 * The client of EventStoreDB for one node, with guards. ADR 0014 says what they guard against and why; the names below
 * are those of `@eventstore/db-client` 6.2.1.
 */
import { EventStoreDBClient } from '@eventstore/db-client';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { UsersClient } from '@eventstore/db-client/generated/users_grpc_pb.js';

import type { BatchCall } from './batchStream.ts';

export interface Guarded {
  readonly client: EventStoreDBClient;
  /** Another service of the node, over the client's connection. */
  readonly stubOf: <Stub>(Service: new (...args: never[]) => Stub, name: string) => Promise<Stub>;
  /** The arguments of a call to such a service: the credentials of the connection string. */
  readonly callArguments: () => CallArguments;
  /** A new stream of appends, to the leader, without a deadline. It takes requests as bytes. */
  readonly openBatch: () => Promise<BatchCall>;
  /** Closes its connections. Calls in flight end on their own. */
  readonly end: () => Promise<void>;
}

type CallArguments = readonly [
  metadata: Parameters<UsersClient['create']>[1],
  options: Parameters<UsersClient['create']>[2],
];

/** The internals that the guards replace. */
interface Internals {
  getGRPCClient: Guarded['stubOf'];
  callArguments: (options: object, callOptions?: object) => CallArguments;
  supports: (...asked: unknown[]) => Promise<boolean>;
  handleError: (...failed: unknown[]) => Promise<void>;
  createChannel: () => Promise<{ close(): void }>;
}

const DEFAULT_KEEP_ALIVE_MS = 10_000;
/** Clients with equal settings would share one connection, and a new one would get the broken connection again. */
let clientsMade = 0;

export function guarded(connectionString: string): Guarded {
  const client = EventStoreDBClient.connectionString(withOwnSettings(connectionString));
  // Instance properties of this exact version, which the package pins and a spec checks.
  const internals = client as unknown as Internals;

  // The client's own batched appends share one table of waiting callers in the whole process: all of them see the
  // failure of one connection, and a reply that arrives later ends the process. Ours are in `batchStream.ts`. Nor does
  // the client query the server's features, whose failure it would remember for ever.
  internals.supports = () => Promise.resolve(false);

  // Nobody awaits it, and it awaits a channel that may fail to open.
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
    openBatch: async () => {
      const stub = await internals.getGRPCClient(streamsService.StreamsClient, 'batchAppend');
      const [metadata, options] = internals.callArguments({ requiresLeader: true }, { deadline: Infinity });
      return stub.makeBidiStreamRequest(
        streamsService.StreamsService.batchAppend.path,
        (request: Buffer) => request,
        streams.BatchAppendResp.deserializeBinary,
        metadata,
        options,
      );
    },
    // The client cancels its calls but leaves the connection open.
    end: async () => {
      for (const channel of channels) channel.close();
    },
  };
}

/** Failures always throw, because the alternative returns wrong results; and no two clients have equal settings. */
function withOwnSettings(connectionString: string): string {
  const asked = /[?&]keepAliveInterval=(\d+)/i.exec(connectionString)?.[1];
  clientsMade += 1;
  const keepAliveMs = Math.max(Number(asked ?? 0), DEFAULT_KEEP_ALIVE_MS) + (clientsMade % 1_000);
  const separator = connectionString.includes('?') ? '&' : '?';
  return `${connectionString}${separator}throwOnAppendFailure=true&keepAliveInterval=${keepAliveMs}`;
}
