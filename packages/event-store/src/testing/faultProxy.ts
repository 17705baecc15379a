/** A proxy between a client and a server on this machine that does to their connections what networks do. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export interface FaultProxy {
  readonly port: number;
  /** Connections from clients that are open now. */
  connections(): number;
  /** Resolves when so many are open. */
  untilConnections(count: number): Promise<void>;
  /** Breaks every connection that is open now. */
  cut(): void;
  /** Lets nothing pass towards clients until `release`; what the server says meanwhile comes late. */
  holdReplies(): void;
  /** Lets nothing pass towards the server until `release`. */
  holdRequests(): void;
  release(): void;
  /** On the connections that are open now, nothing that the server says arrives any more. */
  swallowReplies(): void;
  /** Tells the clients of the connections that are open now that no more will come, and goes on listening to them. */
  halfClose(): void;
  /** New connections go there. */
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
