/**
 * The event store served over the gRPC protocol of EventStoreDB, so that any of its clients can read it. A view: it
 * holds nothing that the store does not.
 */

import { Server as Listener, type Socket } from 'node:net';
import type { EventStore } from '@coffer/event-store';
import gossipService from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import type { ClusterInfo } from '@eventstore/db-client/generated/gossip_pb.js';
import featuresService from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import type { SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb.js';
import {
  logVerbosity,
  type Metadata,
  Server,
  ServerCredentials,
  type sendUnaryData,
  setLogVerbosity,
} from '@grpc/grpc-js';
import { accessCheck, type Credentials, type FailedLogins } from './access.ts';
import { appendHandler, batchAppendHandler } from './appends.ts';
import { streamsDefinition } from './definition.ts';
import { holdAnswers } from './heldAnswers.ts';
import { isLoopback } from './loopback.ts';
import { clusterOf, supportedMethods } from './node.ts';
import { readHandler } from './reads.ts';
import { createTurns } from './readTurns.ts';
import { callError, type GatewayLogger, RefusalError } from './refusals.ts';

export interface StoreGatewayOptions {
  readonly store: EventStore;
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly credentials: Credentials;
  /** Default: appends are refused. */
  readonly allowWrites: boolean;
  /**
   * PEM. Without it the gateway speaks plain text, over which clients send no password: calls without one are then
   * served, and only a loopback host may be bound.
   */
  readonly tls?: { readonly certificate: string; readonly privateKey: string } | undefined;
  /** Default: passwords may be guessed for ever. */
  readonly failedLogins?: FailedLogins | undefined;
  /**
   * The customer of the network behind an address; a customer's connections are counted together. Default: the address.
   */
  readonly keyOfAddress?: ((address: string) => string) | undefined;
  /** A connection without calls is closed after this time. Default: 5 minutes. */
  readonly idleMs?: number | undefined;
  /** Whether there is work that reads should yield to. Default: never. */
  readonly isBusy?: (() => boolean) | undefined;
  readonly logger?: GatewayLogger | undefined;
}

export interface StoreGateway {
  readonly port: number;
  /** Gives appends in flight a moment to be answered, ends every other call, and frees the port. */
  stop(): Promise<void>;
}

/** The largest message that clients of the protocol send. */
const MAX_MESSAGE_BYTES = 17 * 1024 * 1024;
/** When a gateway stops, how much time appends in flight and clients reading their last answers get. */
const STOP_GRACE_MS = 1_500;
/** How a client that has vanished silently is noticed. */
const KEEPALIVE_MS = 20_000;

/** Further calls of a connection wait in its client. */
const MAX_CALLS_PER_CONNECTION = 100;
/** Further ones are closed at once. */
export const MAX_CONNECTIONS = 200;
/** Nor may one address take all of them. */
export const MAX_CONNECTIONS_PER_ADDRESS = 50;
const IDLE_MS = 5 * 60_000;

/** Throws when the address cannot be bound. */
export async function createStoreGateway(options: StoreGatewayOptions): Promise<StoreGateway> {
  const { store, host, tls, logger, allowWrites } = options;
  if (!tls && !isLoopback(host)) {
    throw new Error(`The store gateway serves ${host} only with a certificate.`);
  }
  // Otherwise the library would print errors that callers receive.
  setLogVerbosity(logVerbosity.NONE);
  const stopping = new AbortController();
  const check = accessCheck(options.credentials, tls !== undefined, options.failedLogins);
  const inTurn = createTurns({ isBusy: options.isBusy ?? (() => false) });
  const server = new Server({
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
    'grpc.keepalive_time_ms': KEEPALIVE_MS,
    'grpc.keepalive_timeout_ms': KEEPALIVE_MS,
    'grpc.max_connection_idle_ms': options.idleMs ?? IDLE_MS,
    'grpc.max_concurrent_streams': MAX_CALLS_PER_CONNECTION,
    interceptors: [holdAnswers()],
  });

  /** Handles the calls whose credentials are right, and answers the others. */
  const streaming =
    <Call extends StreamingCall>(handle: (call: Call) => void) =>
    (call: Call): void => {
      const refusal = refusalOf(() => check(call.metadata, addressOf(call)));
      if (refusal) call.emit('error', callError(refusal));
      else handle(call);
    };
  const replying =
    <Call extends AnyCall, Response>(handle: (call: Call, reply: sendUnaryData<Response>) => void) =>
    (call: Call, reply: sendUnaryData<Response>): void => {
      const refusal = refusalOf(() => check(call.metadata, addressOf(call)));
      if (refusal) reply(callError(refusal));
      else handle(call, reply);
    };

  const neverDeleted = replying((_call, reply: sendUnaryData<never>) => {
    reply(callError(new RefusalError('accessDenied', 'A stream of this store is never deleted.')));
  });
  server.addService(streamsDefinition, {
    read: streaming(readHandler({ store, inTurn, logger }, stopping.signal)),
    append: replying(appendHandler({ store, allowWrites, logger })),
    batchAppend: streaming(batchAppendHandler({ store, allowWrites, logger }, stopping.signal)),
    delete: neverDeleted,
    tombstone: neverDeleted,
  });
  // Clients call these before they use a password.
  server.addService(featuresService.ServerFeaturesService, {
    getSupportedMethods: (_call: unknown, reply: sendUnaryData<SupportedMethods>) =>
      reply(null, supportedMethods({ allowWrites })),
  });
  server.addService(gossipService.GossipService, {
    read: (call: { getHost(): string }, reply: sendUnaryData<ClusterInfo>) =>
      reply(null, clusterOf(call.getHost(), { host, port })),
  });

  const port = await bind(server, options);
  for (const listener of listenersOf(server)) {
    listener.maxConnections = MAX_CONNECTIONS;
    boundByAddress(listener, options.keyOfAddress);
  }
  return {
    port,
    async stop() {
      stopping.abort();
      await shutDown(server);
    },
  };
}

interface AnyCall {
  readonly metadata: Metadata;
  getPeer(): string;
}

interface StreamingCall extends AnyCall {
  emit(event: 'error', error: Error): boolean;
}

/** Without the port. */
const addressOf = (call: AnyCall): string => call.getPeer().replace(/:\d+$/, '');

function refusalOf(check: () => void): RefusalError | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof RefusalError) return error;
    throw error;
  }
}

function bind(server: Server, { host, port, tls }: StoreGatewayOptions): Promise<number> {
  const credentials = tls
    ? ServerCredentials.createSsl(null, [
        { cert_chain: Buffer.from(tls.certificate), private_key: Buffer.from(tls.privateKey) },
      ])
    : ServerCredentials.createInsecure();
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, boundPort) => {
      if (error) reject(error);
      else resolve(boundPort);
    });
  });
}

/** The library has no option for what listeners accept. Its version is pinned, and a spec fails if they are gone. */
function listenersOf(server: Server): readonly Listener[] {
  const servers: unknown = Reflect.get(server, 'http2Servers');
  if (!(servers instanceof Map)) throw new TypeError('The server of the gRPC library has no listeners.');
  return [...servers.keys()].filter((listener) => listener instanceof Listener);
}

function boundByAddress(listener: Listener, keyOf = (address: string) => address): void {
  const open = new Map<string, number>();
  // After the library's own listener, which does not take a socket that has been destroyed.
  listener.on('connection', (socket: Socket) => {
    const key = keyOf(socket.remoteAddress ?? '');
    const count = (open.get(key) ?? 0) + 1;
    open.set(key, count);
    socket.once('close', () => {
      const left = (open.get(key) ?? 0) - 1;
      if (left > 0) open.set(key, left);
      else open.delete(key);
    });
    if (count > MAX_CONNECTIONS_PER_ADDRESS) socket.destroy();
  });
}

async function shutDown(server: Server): Promise<void> {
  const closed = Promise.withResolvers<void>();
  const timer = setTimeout(() => server.forceShutdown(), STOP_GRACE_MS);
  server.tryShutdown((error) => {
    clearTimeout(timer);
    if (error) closed.reject(error);
    else closed.resolve();
  });
  await closed.promise;
}
