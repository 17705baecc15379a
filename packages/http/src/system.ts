/** What stands beside the API, for those who run it: health, readiness, metrics. */
import type { IncomingMessage } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import type { Registry } from 'prom-client';
import { reject } from './errors.ts';
import { type MetricFigures, metricsText } from './metrics.ts';

export interface Readiness {
  readonly ready: boolean;
  /** What is still missing, in words for an operator. */
  readonly reasons: readonly string[];
  /** What reads the log and has stopped for good, in this process or another. Nothing secret: anybody may ask. */
  readonly stopped?: readonly StoppedReader[];
}

export interface StoppedReader {
  readonly consumer: string;
  readonly code: string;
  /** Where the event to blame stands; null where it is none. */
  readonly position: string | null;
  readonly event: { readonly id: string; readonly type: string } | null;
}

/** The process is up and answers: nothing else is looked at. */
export function healthz(version: string): RequestHandler {
  const body = { status: 'ok', version };
  return (_request: Request, response: Response) => {
    response.json(body);
  };
}

/** 200 or 503 `service/not_ready` with details `{ reasons }`; either names what has `stopped`, if anything has. */
export function readyz(readiness: () => Promise<Readiness>): RequestHandler {
  return async (_request: Request, response: Response) => {
    const { ready, reasons, stopped = [] } = await readiness();
    const named = stopped.length > 0 ? { stopped } : {};
    if (!ready) throw reject('service/not_ready', { reasons, ...named });
    response.json({ status: 'ready', ...named });
  };
}

/** Prometheus text, for peers on this machine unless `open`; to anybody else there is nothing here. */
export function metricsPage(
  registry: Registry,
  ofOthers: () => Promise<readonly MetricFigures[]>,
  open: boolean,
): RequestHandler {
  return async (request: Request, response: Response) => {
    if (!open && !isLocalPeer(request)) throw reject('request/not_found');
    response.setHeader('Content-Type', registry.contentType);
    response.end(await metricsText(registry, ofOthers));
  };
}

/**
 * By the connection alone: a forwarded address is only what somebody wrote. A request that was forwarded
 * comes from elsewhere even if the proxy is on this machine.
 */
export function isLocalPeer(request: IncomingMessage): boolean {
  const { headers } = request;
  if (
    headers.forwarded !== undefined ||
    headers['x-forwarded-for'] !== undefined ||
    headers.via !== undefined
  ) {
    return false;
  }
  const address = request.socket.remoteAddress ?? '';
  return address === '::1' || /^(::ffff:)?127\./i.test(address);
}
