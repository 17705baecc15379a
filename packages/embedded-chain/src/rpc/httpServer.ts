/** The RPC over HTTP, for any program on this machine and for pages that it serves. */
import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { AnswerLost, type Faults } from '../faults.ts';
import type { Rpc } from './rpc.ts';

/** For a batch of the largest transactions, with room to spare. */
const MAXIMUM_BODY_BYTES = 512 * 1024;
const LOOPBACK_HOSTS: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

export interface HttpServerOptions {
  readonly rpc: Rpc;
  readonly faults: Faults;
  /** What specs call at `/control`, with its token as the bearer; it answers even while the node is down. */
  readonly control: { readonly rpc: Rpc; readonly token: string } | undefined;
  readonly onError: (error: unknown) => void;
}

export function createHttpServer(options: HttpServerOptions): Server {
  return createServer((request, response) => {
    respond(options, request, response).catch((error: unknown) => {
      if (error instanceof AnswerLost) {
        lose(response, error.how);
        return;
      }
      options.onError(error);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
}

async function respond(
  { rpc, faults, control }: HttpServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const isControl = control && request.url === '/control';
  const down = isControl ? undefined : faults.outage();
  if (down) throw new AnswerLost(down);
  allowLoopbackOrigin(request, response);
  if (isControl && !isBearer(request, control.token)) return end(response, 401);
  if (request.method === 'OPTIONS') return end(response, 204);
  if (request.method === 'GET' && request.url === '/health') return end(response, 200, 'ok', 'text/plain');
  if (request.method !== 'POST') return end(response, 405);
  const body = await bodyOf(request);
  if (body === undefined) return end(response, 413);
  const answer = await (isControl ? control.rpc : rpc).answer(body);
  return end(response, answer === undefined ? 204 : 200, answer);
}

function end(response: ServerResponse, status: number, body = '', type = 'application/json'): void {
  response.writeHead(status, body ? { 'content-type': type } : {}).end(body);
}

function lose(response: ServerResponse, how: AnswerLost['how']): void {
  if (how === 'reset') response.socket?.resetAndDestroy();
  else if (how !== 'never') end(response, Number(how));
}

function isBearer({ headers }: IncomingMessage, token: string): boolean {
  const given = Buffer.from(headers.authorization ?? '');
  const wanted = Buffer.from(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** Whether it is the origin of a page on this machine. */
export function isLoopbackOrigin(origin: string): boolean {
  return URL.canParse(origin) && LOOPBACK_HOSTS.includes(new URL(origin).hostname);
}

function allowLoopbackOrigin({ headers }: IncomingMessage, response: ServerResponse): void {
  const { origin } = headers;
  response.setHeader('vary', 'origin');
  if (!origin || !isLoopbackOrigin(origin)) return;
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('access-control-allow-methods', 'POST, OPTIONS');
  // Clients identify themselves in their own headers.
  response.setHeader(
    'access-control-allow-headers',
    headers['access-control-request-headers'] ?? 'content-type',
  );
  response.setHeader('access-control-max-age', '600');
}

/** Undefined if it is too large. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= MAXIMUM_BODY_BYTES) chunks.push(chunk);
  }
  return bytes <= MAXIMUM_BODY_BYTES ? Buffer.concat(chunks).toString('utf8') : undefined;
}
