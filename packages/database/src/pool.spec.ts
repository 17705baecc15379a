import { once } from 'node:events';
import { type AddressInfo, createServer, Socket } from 'node:net';
import { expect } from 'chai';
import { withAdvisoryLock } from './advisoryLock.ts';
import { createPool, type Pool, type PoolOptions, withConnection, withTransaction } from './pool.ts';

/** https://www.postgresql.org/docs/18/protocol-message-formats.html */
const message = (type: string, content: Buffer): Buffer => {
  const head = Buffer.alloc(5, type);
  head.writeInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
};
const AUTHENTICATED = message('R', Buffer.alloc(4));
const READY = message('Z', Buffer.from('I'));
const SHUT_DOWN = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection\0\0'));

const QUERY = 'select 1';
const USES: readonly (readonly [name: string, use: (pool: Pool) => Promise<unknown>])[] = [
  ['a connection', (pool) => withConnection(pool, (client) => client.query(QUERY))],
  ['a transaction', (pool) => withTransaction(pool, (client) => client.query(QUERY))],
  ['an advisory lock', (pool) => withAdvisoryLock(pool, 1, async () => undefined)],
  ['a query', (pool) => pool.query(QUERY)],
];

describe('a connection that is lost by the packet that opens it', () => {
  for (const [name, use] of USES) {
    it(`fails ${name}, and not the process`, async () => {
      const { server, pool } = await poolOf((socket) =>
        socket.end(Buffer.concat([AUTHENTICATED, READY, SHUT_DOWN])),
      );
      const failure = await use(pool).catch((error: unknown) => error);
      expect(failure).to.be.instanceOf(Error);
      await pool.end();
      server.close();
    });
  }
});

describe('a server that is silent after the login', () => {
  for (const [name, use] of USES) {
    it(`fails ${name} when the bound is reached, and the connection is closed`, async () => {
      const closed = Promise.withResolvers<void>();
      const { server, pool } = await poolOf(
        (socket) => {
          socket.write(Buffer.concat([AUTHENTICATED, READY]));
          socket.on('close', () => closed.resolve());
        },
        { statementWithinMs: 20 },
      );
      const failure = await use(pool).catch((error: unknown) => error);
      expect(failure).to.be.instanceOf(Error).with.property('message', 'Query read timeout');
      await closed.promise;
      expect(pool.totalCount).to.equal(0);
      await pool.end();
      server.close();
    });
  }

  it('is asked nothing more', async () => {
    const { server, pool } = await poolOf((socket) => socket.write(Buffer.concat([AUTHENTICATED, READY])), {
      statementWithinMs: 20,
    });
    const asked: unknown[] = [];
    pool.on('connect', (client) => {
      const query = client.query.bind(client) as (text: string) => unknown;
      Object.assign(client, {
        query(text: string) {
          asked.push(text);
          return query(text);
        },
      });
    });
    await withTransaction(pool, async () => undefined).catch(() => undefined);
    await pool.end();
    server.close();
    expect(asked).to.deep.equal(['begin']);
  });
});

describe('a pool', () => {
  it('has the system ask whether a silent server is still there', async () => {
    const { server, pool } = await poolOf((socket) => socket.write(Buffer.concat([AUTHENTICATED, READY])));
    const asked: unknown[] = [];
    const { setKeepAlive } = Socket.prototype;
    Socket.prototype.setKeepAlive = function (isOn?: unknown, afterMs?: number) {
      asked.push([isOn, afterMs]);
      return setKeepAlive.call(this, isOn === true, afterMs);
    };
    try {
      const client = await pool.connect();
      client.release();
    } finally {
      Socket.prototype.setKeepAlive = setKeepAlive;
    }
    await pool.end();
    server.close();
    expect(asked).to.deep.equal([[true, 10_000]]);
  });
});

/** Of a server that does this once a client has begun to log in. */
async function poolOf(begin: (socket: Socket) => void, options: Partial<PoolOptions> = {}) {
  const server = createServer((socket) => {
    socket.once('data', () => begin(socket)).on('error', () => undefined);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const pool = createPool({
    connectionString: `postgres://user@127.0.0.1:${port}/any`,
    applicationName: 'spec',
    onIdleError: () => undefined,
    ...options,
  });
  return { server, pool };
}
