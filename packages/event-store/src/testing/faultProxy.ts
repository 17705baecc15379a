/** A proxy between a client and a server on this machine that breaks connections the way networks do. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export interface FaultProxy {
  readonly port: number;
  /** The number of open client connections. */
  connections(): number;
  /** Resolves when this many are open. */
  untilConnections(count: number): Promise<void>;
  /** Breaks every open connection. */
  cut(): void;
  /** Holds back everything for clients until `release`; what the server sends meanwhile arrives late. */
  holdReplies(): void;
  /** Holds back everything for the server until `release`. */
  holdRequests(): void;
  release(): void;
  /** On the open connections, nothing that the server sends arrives any longer. */
  swallowReplies(): void;
  /** Sends the clients of the open connections an end, and keeps listening to them. */
  halfClose(): void;
  /** New connections go to this port. */
  pointTo(port: number): void;
  /** Breaks every connection and refuses new ones until `comeBack`. */
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
  close(): Promise<void>;
}

interface Link {
  readonly client: Socket;
  readonly upstream: Socket;
  swallows: boolean;
}

export async function createFaultProxy(targetPort: number): Promise<FaultProxy> {
  const links = new Set<Link>();
  let target = targetPort;
  let held: 'replies' | 'requests' | undefined;
  let server: Server | undefined;
  let change = Promise.withResolvers<void>();
  const changed = (): void => {
    const { resolve } = change;
    change = Promise.withResolvers<void>();
    resolve();
  };

  const accept = (client: Socket): void => {
    const link: Link = { client, upstream: connect(target, '127.0.0.1'), swallows: false };
    const { upstream } = link;
    links.add(link);
    changed();
    const part = (): void => {
      if (links.delete(link)) changed();
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.setNoDelay().on('error', part).on('close', part);
    client.on('data', (chunk) => upstream.write(chunk));
    upstream.on('data', (chunk) => {
      if (!link.swallows && !client.writableEnded) client.write(chunk);
    });
    apply(link);
  };
  const apply = ({ client, upstream }: Link): void => {
    if (held === 'requests') client.pause();
    else client.resume();
    if (held === 'replies') upstream.pause();
    else upstream.resume();
  };
  const hold = (what: typeof held): void => {
    held = what;
    links.forEach(apply);
  };
  const cut = (): void => {
    for (const { client } of links) client.resetAndDestroy();
  };
  const listen = async (port: number): Promise<number> => {
    server = createServer(accept);
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const stop = async (): Promise<void> => {
    const stopped = server;
    if (!stopped) return;
    server = undefined;
    cut();
    stopped.close();
    await once(stopped, 'close');
  };

  const port = await listen(0);
  return {
    port,
    connections: () => links.size,
    async untilConnections(count) {
      while (links.size !== count) await change.promise;
    },
    cut,
    holdReplies: () => hold('replies'),
    holdRequests: () => hold('requests'),
    release: () => hold(undefined),
    swallowReplies() {
      for (const link of links) link.swallows = true;
    },
    halfClose() {
      for (const { client } of links) client.end();
    },
    pointTo(other) {
      target = other;
    },
    goAway: stop,
    async comeBack() {
      await listen(port);
    },
    close: stop,
  };
}
