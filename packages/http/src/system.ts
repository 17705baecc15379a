/** What stands beside the API, for those who run it: health, readiness, metrics. */
import type { IncomingMessage } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import type { Registry } from 'prom-client';
import { reject } from './errors.ts';
import type { Logger } from './logger.ts';
import { type MetricFigures, metricsText, withinLimit } from './metrics.ts';

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

/** Anybody may ask, as often as they like, and a look is several questions to the database. */
const READINESS_LIFETIME_MS = 500;
/** A look takes that long only if something of what it asks has gone silent. */
const READINESS_LIMIT_MS = 5_000;
const SILENCE: Readiness = { ready: false, reasons: ['The log or the database does not answer.'] };

export interface ReadyzOptions {
  readonly logger: Logger;
  /** A monotonic clock. */
  readonly nowMs: () => number;
  readonly limitMs?: number;
}

/**
 * 200 or 503 `service/not_ready` with details `{ reasons }`; either names what has `stopped`, if anything has. The log is
 * told once that it is not ready, however many probes a start takes.
 */
export function readyz(
  readiness: () => Promise<Readiness>,
  { logger, nowMs, limitMs = READINESS_LIMIT_MS }: ReadyzOptions,
): RequestHandler {
  let wasReady = false;
  let isTold = false;
  const look = sharedFor(READINESS_LIFETIME_MS, nowMs, async () => {
    const found = (await withinLimit(readiness(), limitMs)) ?? SILENCE;
    if (!found.ready && !isTold) logger[wasReady ? 'warn' : 'info']({ reasons: found.reasons }, 'Not ready.');
    isTold = !found.ready;
    wasReady ||= found.ready;
    return found;
  });
  return async (_request: Request, response: Response) => {
    const { ready, reasons, stopped = [] } = await look();
    const named = stopped.length > 0 ? { stopped } : {};
    if (!ready) throw reject('service/not_ready', { reasons, ...named });
    response.json({ status: 'ready', ...named });
  };
}

/** One at a time; whoever asks meanwhile, or within its lifetime, shares its outcome, also a failure. */
function sharedFor<Value>(
  lifetimeMs: number,
  nowMs: () => number,
  load: () => Promise<Value>,
): () => Promise<Value> {
  let outcome: Promise<Value> | undefined;
  let endedAtMs: number | undefined;
  const end = () => {
    endedAtMs = nowMs();
  };
  return () => {
    if (outcome && (endedAtMs === undefined || nowMs() - endedAtMs < lifetimeMs)) return outcome;
    endedAtMs = undefined;
    outcome = load();
    outcome.then(end, end);
    return outcome;
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
