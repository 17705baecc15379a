/** A receiver of webhooks over HTTPS, which offers HTTP/1.1 and HTTP/2 and closes no connection by itself. */
import { once } from 'node:events';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Certificates } from '@coffer/testing';

interface SecurelyReceived {
  readonly path: string;
  readonly httpVersion: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
  /** Which connection it came by, from 0. */
  readonly connection: number;
}

export interface SecureReceiver {
  /** Ends without a slash. */
  readonly url: string;
  readonly received: readonly SecurelyReceived[];
  readonly openConnections: () => number;
  readonly close: () => void;
}

type SecureAnswer = (received: SecurelyReceived, response: Http2ServerResponse) => void;

export async function startSecureReceiver(
  { cert, key }: Certificates,
  answer: SecureAnswer = (_received, response) => response.end(),
): Promise<SecureReceiver> {
  const received: SecurelyReceived[] = [];
  const connections: Socket[] = [];
  async function receive(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
    const connection = connections.indexOf(request.socket);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { url: path = '', httpVersion, headers } = request;
    const one = { path, httpVersion, headers, body: Buffer.concat(chunks), connection };
    received.push(one);
    answer(one, response);
  }
  const server = createSecureServer({ cert, key, allowHTTP1: true }, receive);
  server.on('secureConnection', (socket: Socket) => connections.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}`,
    received,
    openConnections: () => connections.filter(({ destroyed }) => !destroyed).length,
    close() {
      for (const socket of connections) socket.destroy();
      server.close();
    },
  };
}
