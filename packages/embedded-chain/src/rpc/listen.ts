/** Binds a server. */
import { once } from 'node:events';
import type { Server } from 'node:net';

/** Returns the port that it is bound to. */
export async function listen(server: Server, host: string, port: number): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server is bound to no port');
  return address.port;
}
