import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect } from 'chai';
import { ClientGoneError, readBody } from './readBody.ts';

/** Reads the body of a request that never ends: what comes of it if the request is answered before or after. */
async function readingOf(
  begin: (request: IncomingMessage, response: ServerResponse) => Promise<Buffer>,
): Promise<unknown> {
  const outcome = Promise.withResolvers<unknown>();
  const server = createServer((request, response) => {
    begin(request, response).then(outcome.resolve, outcome.resolve);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A server on host and port has an address of this form.
  const { port } = server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 17\r\n\r\n{');
  try {
    return await outcome.promise;
  } finally {
    socket.destroy();
    server.close();
  }
}

describe('reading a body', () => {
  it('ends when the request is answered before the body is complete', async () => {
    const answeredBefore = await readingOf((request, response) => {
      response.end('no');
      return readBody(request, response, 100);
    });
    const answeredMeanwhile = await readingOf((request, response) => {
      const reading = readBody(request, response, 100);
      request.once('data', () => response.end('no'));
      return reading;
    });
    expect(answeredBefore).to.be.instanceOf(ClientGoneError);
    expect(answeredMeanwhile).to.be.instanceOf(ClientGoneError);
  });

  it('ends when the client has left before it begins', async () => {
    const left = await readingOf(async (request, response) => {
      const closed = once(response, 'close');
      request.socket.destroy();
      await closed;
      return readBody(request, response, 100);
    });
    expect(left).to.be.instanceOf(ClientGoneError);
  });
});
