/** The shop over real HTTP, and a client for it. */
import { Registry } from 'prom-client';
import { failOnUndeclared } from '../api.ts';
import { type AppOptions, createApp } from '../app.ts';
import { createLogger } from '../logger.ts';
import { type RunningServer, type ServerOptions, startServer } from '../server.ts';
import { ACCESS_TOKEN, buy, callers, OPERATOR_TOKEN, player, shopErrors } from './shop.ts';

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
