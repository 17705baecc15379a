/** A connection for appends that cannot be prepared is given up. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { failureOf } from '@coffer/testing';
import { expect } from 'chai';
import { createAppendConnection } from './appendConnection.ts';

/** https://www.postgresql.org/docs/18/protocol-message-formats.html */
const AUTHENTICATED = Buffer.from('R\0\0\0\x08\0\0\0\0');
const READY = Buffer.from('Z\0\0\0\x05I');
const FIELDS = 'SERROR\0C55000\0Mnot today\0\0';
const REFUSAL = Buffer.from(`E\0\0\0${String.fromCharCode(4 + FIELDS.length)}${FIELDS}`);

describe('a connection for appends', () => {
  let server: Server;
  let accepted: Socket[];
  afterEach(async () => {
    server.close();
    await once(server, 'close');
  });

  for (const [what, answer] of [
    ['does not answer after the login', Buffer.alloc(0)],
    ['refuses its settings', Buffer.concat([REFUSAL, READY])],
  ] as const) {
    it(`to a server that ${what} fails and is closed, and the next call opens another`, async () => {
      accepted = [];
      server = createServer((socket) => {
        accepted.push(socket);
        socket.once('data', () => {
          socket.write(Buffer.concat([AUTHENTICATED, READY]));
          socket.once('data', () => socket.write(answer));
        });
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const connection = createAppendConnection({
        connectionString: `postgres://spec@127.0.0.1:${port}/spec`,
        applicationName: 'spec',
        openingTimeoutMs: 200,
      });
      for (const count of [1, 2]) {
        await failureOf(connection.client());
        expect(accepted).to.have.length(count);
      }
      // The server closes only when its connections are.
      await connection.end();
    });
  }
});
