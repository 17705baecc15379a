/**
 * The endpoints of the webhook measurements, in a process of their own: each path is an endpoint, and the first few of them
 * may hang. Takes one order at a time from its parent, and answers each.
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { quantile } from './pacing.ts';

export type ReceiverOrder =
  /** Forgets what was received. `/0` up to that number hang; those that hung before are answered. */
  | { readonly kind: 'begin'; readonly hanging: number }
  /** Answered once so many have come. */
  | { readonly kind: 'await'; readonly count: number }
  | { readonly kind: 'report'; readonly fromEndpoint: number };

export interface ReceiverReport {
  readonly received: number;
  /** From the first to the last. */
  readonly perSecond: number;
  /** From the time that an event names to its arrival, for the endpoints from that number on. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const MOST = 2_000_000;
const latenciesMs = new Float64Array(MOST);
const endpoints = new Uint16Array(MOST);
let received = 0;
let firstMs = 0;
let lastMs = 0;
let hanging = 0;
let hung: ServerResponse[] = [];
let awaited: { readonly count: number; readonly reached: () => void } | undefined;

const CREATED_AT = '"createdAt":"';
const INSTANT_LENGTH = '2026-01-01T00:00:00.000Z'.length;

const server = createServer((request, response) => {
  const endpoint = Number(request.url?.slice(1));
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    note(endpoint, Buffer.concat(chunks));
    if (endpoint < hanging) hung.push(response);
    else response.end();
  });
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');

process.on('message', (order: ReceiverOrder) => {
  switch (order.kind) {
    case 'begin':
      received = 0;
      hanging = order.hanging;
      for (const response of hung) response.end();
      hung = [];
      process.send?.('begun');
      return;
    case 'await':
      awaited = { count: order.count, reached: () => process.send?.('reached') };
      tellIfReached();
      return;
    case 'report':
      process.send?.(reportFrom(order.fromEndpoint));
  }
});
// The parent is gone: nobody is left to report to.
process.on('disconnect', () => process.exit(0));
process.once('SIGTERM', () => process.exit(0));
// A server on host and port has an address of this form.
process.send?.((server.address() as AddressInfo).port);

function note(endpoint: number, body: Buffer): void {
  const nowMs = performance.timeOrigin + performance.now();
  const at = body.indexOf(CREATED_AT) + CREATED_AT.length;
  latenciesMs[received] = nowMs - Date.parse(body.toString('latin1', at, at + INSTANT_LENGTH));
  endpoints[received] = endpoint;
  if (received === 0) firstMs = nowMs;
  lastMs = nowMs;
  received += 1;
  tellIfReached();
}

function tellIfReached(): void {
  if (!awaited || received < awaited.count) return;
  const { reached } = awaited;
  awaited = undefined;
  reached();
}

function reportFrom(endpoint: number): ReceiverReport {
  const sorted = latenciesMs
    .subarray(0, received)
    .filter((_, index) => (endpoints[index] ?? 0) >= endpoint)
    .sort();
  return {
    received,
    perSecond: ((received - 1) * 1_000) / (lastMs - firstMs),
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
  };
}
