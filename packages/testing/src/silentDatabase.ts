/** A Postgres that lets everybody in, and then never says another word: as after a failover, or behind a firewall. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createPool, type Pool } from '@coffer/database';

/** "You are in." and "Ask." Source: https://www.postgresql.org/docs/18/protocol-message-formats.html */
const WELCOME = Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1');

export interface SilentDatabase {
  readonly pool: Pool;
  /** How many were opened. */
  readonly connections: () => number;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startSilentDatabase(): Promise<SilentDatabase> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    // Whoever gives up on it may reset the connection.
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write(WELCOME));
    socket.resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A server on host and port has an address of this form.
  const { port } = server.address() as AddressInfo;
  const pool = createPool({
    connectionString: `postgres://nobody@127.0.0.1:${port}/silent`,
    applicationName: 'spec',
    onIdleError: () => undefined,
  });
  return {
    pool,
    connections: () => sockets.length,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
      await pool.end();
    },
  };
}
