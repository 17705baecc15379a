/** For this package's specs: an app with a few endpoints over real HTTP, and sockets to be rude with. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type ErrorCatalog, positiveAmount, rejecterFor } from '@coffer/kernel';
import { Registry } from 'prom-client';
import { z } from 'zod';
import { failOnUndeclared } from './api.ts';
import { type AppOptions, createApp } from './app.ts';
import { type AppCaller, type Endpoint, endpoint, type SessionCaller } from './endpoint.ts';
import { createLogger } from './logger.ts';
import { type RunningServer, type ServerOptions, startServer } from './server.ts';

export const SECRET_KEY = 'sk_test_alpha';
export const PUBLISHABLE_KEY = 'pk_test_alpha';
/** Three parts, as a JWT has: whether they are well signed is for whoever resolves them. */
export const ACCESS_TOKEN = 'eyJhbGciOi.eyJzdWIi.c2ln';
export const OPERATOR_TOKEN = 'operator-token-of-the-spec';

export const shopErrors = {
  'shop/closed': { status: 404, message: 'The shop is closed.' },
  'shop/too_poor': { status: 409, message: 'The price exceeds the balance.' },
} as const satisfies ErrorCatalog;
export const rejectShop = rejecterFor(shopErrors);

const keyOf = (kind: AppCaller['kind'], keyId: string): AppCaller => ({
  kind,
  appId: 'app_1',
  scopeId: 'scp_1',
  environment: 'test',
  keyId,
});

const callers: Readonly<Record<string, AppCaller>> = {
  [SECRET_KEY]: keyOf('secret', 'key_1'),
  [PUBLISHABLE_KEY]: keyOf('publishable', 'key_2'),
};

const player: SessionCaller = {
  kind: 'session',
  userId: 'usr_1',
  sessionId: 'sid_1',
  appId: 'app_1',
  scopeId: 'scp_1',
  environment: 'test',
  authenticatedAt: '2026-03-01T12:00:00.000Z',
};

export const purchaseBody = z.strictObject({
  item: z.string().min(1),
  price: positiveAmount,
  note: z.string().optional(),
});

/** POST /shop/purchases: answers the price in words of the wire, so that a spec sees what was parsed. */
export const buy = endpoint({
  method: 'POST',
  path: '/shop/purchases',
  credential: 'sk',
  summary: 'Buy an item',
  body: purchaseBody,
  success: { status: 201, schema: z.strictObject({ item: z.string(), price: z.string() }) },
  errors: ['shop/too_poor'],
  handle: ({ body }) => {
    if (body.price > 1_000n) throw rejectShop('shop/too_poor', { price: body.price, balance: 1_000n });
    return { status: 201, body: { item: body.item, price: body.price.toString() } };
  },
});

export interface World extends RunningServer {
  /** `http://…/v1` */
  readonly base: string;
  readonly logLines: readonly string[];
  readonly metrics: Registry;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface WorldOptions extends Partial<AppOptions> {
  readonly server?: Partial<ServerOptions>;
}

/** `await using world = await startWorld(…)`. */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const { server: serverOptions, ...appOptions } = options;
  const logLines: string[] = [];
  const metrics = new Registry();
  const logger = createLogger({ level: 'info', destination: { write: (line) => logLines.push(line) } });
  const app = createApp({
    endpoints: [buy],
    catalog: shopErrors,
    resolveKey: (token) => callers[token],
    resolveSession: (token) => (token === ACCESS_TOKEN ? player : undefined),
    allowedOrigins: { ofApp: () => false, ofAnyApp: () => false },
    isOperatorToken: (token) => token === OPERATOR_TOKEN,
    errorOf: () => undefined,
    logger,
    metrics,
    readiness: async () => ({ ready: true, reasons: [] }),
    version: '1.2.3',
    onUndeclared: failOnUndeclared,
    ...appOptions,
  });
  const running = await startServer(app, { host: '127.0.0.1', port: 0, logger, ...serverOptions });
  return {
    ...running,
    base: `${running.url}/v1`,
    logLines,
    metrics,
    [Symbol.asyncDispose]: () => running.stop(0),
  };
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
export const asJson = { 'content-type': 'application/json' };

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly code: unknown;
  readonly body: Record<string, unknown>;
}

/** `fetch`, with the JSON body read. */
export async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, init);
  const text = await response.text();
  const body: Record<string, unknown> = text === '' ? {} : JSON.parse(text);
  return { status: response.status, headers: response.headers, code: body.code, body };
}

/** An endpoint for one spec, with the tedious parts filled in. */
export function simpleEndpoint(parts: Partial<Endpoint> & Pick<Endpoint, 'path' | 'handle'>): Endpoint {
  return {
    method: 'GET',
    credential: 'none',
    summary: 'Do something for a spec',
    success: { status: 200 },
    errors: [],
    ...parts,
  };
}

/** A connection on which a spec writes what no HTTP client would. */
export async function openSocket(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  // A reset is one of the ends a rude client may meet; what was received before it is what counts.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Everything the server says until it closes the connection. */
export async function readToEnd(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  if (!socket.closed) await once(socket, 'close');
  return Buffer.concat(chunks).toString();
}

/** What the server says up to and including the text. */
export async function readUntil(socket: Socket, text: string): Promise<string> {
  let received = '';
  while (!received.includes(text)) received += String((await once(socket, 'data'))[0]);
  return received;
}
