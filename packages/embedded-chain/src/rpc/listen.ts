/** Binds the servers: clients look for subscriptions at the port after the RPC's. */
import { once } from 'node:events';
import type { Server } from 'node:net';

const ATTEMPTS = 20;

/** Returns the port of the RPC; port 0 finds one whose next port is also free. */
export async function listenPair(rpc: Server, sockets: Server, host: string, port: number): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const bound = await listen(rpc, host, port);
    try {
      await listen(sockets, host, bound + 1);
      return bound;
    } catch (error) {
      await closed(rpc);
      if (port !== 0 || attempt === ATTEMPTS) throw error;
    }
  }
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server is bound to no port');
  return address.port;
}

export async function closed(server: Server): Promise<void> {
  await new Promise((resolve) => server.close(resolve));
}
