/** The shop over real HTTP, and a client for it. */
import { Registry } from 'prom-client';
import type { AppOptions } from '../app.ts';
import { createLogger } from '../logger.ts';
import type { RunningServer, ServerOptions } from '../server.ts';
import { serve } from './serve.ts';
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
  const served = {
    endpoints: [buy],
    catalog: shopErrors,
    resolveKey: (token: string) => callers[token],
    resolveSession: (token: string) => (token === ACCESS_TOKEN ? player : undefined),
    isOperatorToken: (token: string) => token === OPERATOR_TOKEN,
    logger,
    metrics,
    ...appOptions,
  };
  const running = await serve(served, { logger, ...serverOptions });
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
