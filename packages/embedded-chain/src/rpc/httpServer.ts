/** The RPC over HTTP, for any program on this machine and for pages that it serves. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Rpc } from './rpc.ts';

/** Of a batch of the largest transactions, with room to spare. */
const MAXIMUM_BODY_BYTES = 512 * 1024;
const LOOPBACK_HOSTS: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

export function createHttpServer(rpc: Rpc, onError: (error: unknown) => void): Server {
  return createServer((request, response) => {
    respond(rpc, request, response).catch((error: unknown) => {
      onError(error);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
}

async function respond(rpc: Rpc, request: IncomingMessage, response: ServerResponse): Promise<void> {
  allowLoopbackOrigin(request, response);
  if (request.method === 'OPTIONS') return end(response, 204);
  if (request.method === 'GET' && request.url === '/health') return end(response, 200, 'ok', 'text/plain');
  if (request.method !== 'POST') return end(response, 405);
  const body = await bodyOf(request);
  if (body === undefined) return end(response, 413);
  const answer = await rpc.answer(body);
  return end(response, answer === undefined ? 204 : 200, answer);
}

function end(response: ServerResponse, status: number, body = '', type = 'application/json'): void {
  response.writeHead(status, body ? { 'content-type': type } : {}).end(body);
}

function allowLoopbackOrigin({ headers }: IncomingMessage, response: ServerResponse): void {
  const { origin } = headers;
  response.setHeader('vary', 'origin');
  if (!origin || !URL.canParse(origin) || !LOOPBACK_HOSTS.includes(new URL(origin).hostname)) return;
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('access-control-allow-methods', 'POST, OPTIONS');
  // Clients name themselves in headers of their own.
  response.setHeader(
    'access-control-allow-headers',
    headers['access-control-request-headers'] ?? 'content-type',
  );
  response.setHeader('access-control-max-age', '600');
}

/** Undefined where it is too large. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= MAXIMUM_BODY_BYTES) chunks.push(chunk);
  }
  return bytes <= MAXIMUM_BODY_BYTES ? Buffer.concat(chunks).toString('utf8') : undefined;
}
