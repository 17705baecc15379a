/** A proxy before Postgres that can lose a reply: the statement is executed, and nobody is told. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface ReplySwallower {
  /** The same database, through the proxy. */
  readonly connectionString: string;
  /** The next reply on each open connection is lost, and the connection with it. */
  swallowReplies(): void;
  close(): Promise<void>;
}

export async function createReplySwallower(connectionString: string): Promise<ReplySwallower> {
  const target = new URL(connectionString);
  const sockets = new Set<Socket>();
  const swallowing = new WeakSet<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const pair = [client, upstream];
    sockets.add(client);
    const part = (): void => {
      sockets.delete(client);
      for (const socket of pair) socket.destroy();
    };
    for (const socket of pair) socket.on('error', part).on('close', part);
    client.on('data', (chunk) => upstream.write(chunk));
    upstream.on('data', (chunk) => {
      if (swallowing.has(client)) part();
      else client.write(chunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const through = new URL(connectionString);
  through.hostname = '127.0.0.1';
  through.port = String((server.address() as AddressInfo).port);
  return {
    connectionString: through.href,
    swallowReplies() {
      for (const client of sockets) swallowing.add(client);
    },
    async close() {
      for (const client of sockets) client.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
