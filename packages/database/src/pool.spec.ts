import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect } from 'chai';
import { withAdvisoryLock } from './advisoryLock.ts';
import { createPool, type Pool, withConnection, withTransaction } from './pool.ts';

/** https://www.postgresql.org/docs/18/protocol-message-formats.html */
const message = (type: string, content: Buffer): Buffer => {
  const head = Buffer.alloc(5, type);
  head.writeInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
};
const AUTHENTICATED = message('R', Buffer.alloc(4));
const READY = message('Z', Buffer.from('I'));
const SHUT_DOWN = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection\0\0'));

describe('a connection that is lost by the packet that opens it', () => {
  const query = 'select 1';
  const uses: readonly (readonly [name: string, use: (pool: Pool) => Promise<unknown>])[] = [
    ['a connection', (pool) => withConnection(pool, (client) => client.query(query))],
    ['a transaction', (pool) => withTransaction(pool, (client) => client.query(query))],
    ['an advisory lock', (pool) => withAdvisoryLock(pool, 1, async () => undefined)],
    ['a query', (pool) => pool.query(query)],
  ];
  for (const [name, use] of uses) {
    it(`fails ${name}, and not the process`, async () => {
      const server = createServer((socket) => {
        socket.once('data', () => socket.end(Buffer.concat([AUTHENTICATED, READY, SHUT_DOWN])));
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const { port } = server.address() as AddressInfo;
      const pool = createPool({
        connectionString: `postgres://user@127.0.0.1:${port}/any`,
        applicationName: 'spec',
        onIdleError: () => undefined,
      });
      const failure = await use(pool).catch((error: unknown) => error);
      expect(failure).to.be.instanceOf(Error);
      await pool.end();
      server.close();
    });
  }
});
