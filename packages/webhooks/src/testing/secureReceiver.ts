/** A receiver of webhooks over HTTPS, in one version of HTTP. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { createServer } from 'node:https';
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
  readonly close: () => void;
}

export async function startSecureReceiver(
  version: '1.1' | '2',
  { cert, key }: Certificates,
): Promise<SecureReceiver> {
  const received: SecurelyReceived[] = [];
  const connections: Socket[] = [];
  async function receive(
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
  ): Promise<void> {
    const connection = connections.indexOf(request.socket);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { url: path = '', httpVersion, headers } = request;
    received.push({ path, httpVersion, headers, body: Buffer.concat(chunks), connection });
    response.end();
  }
  const server =
    version === '2'
      ? createSecureServer({ cert, key, allowHTTP1: false }, receive)
      : createServer({ cert, key }, receive);
  server.on('secureConnection', (socket: Socket) => connections.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}`,
    received,
    close() {
      for (const socket of connections) socket.destroy();
      server.close();
    },
  };
}
