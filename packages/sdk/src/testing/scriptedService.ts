/** For the specs: a service that answers by a script, and a clock that moves only when something sleeps. */
import { isRecord } from '../answers.ts';
import { createBackendClient } from '../backend.ts';
import { CofferError } from '../cofferError.ts';
import type { Fetch } from '../platform.ts';
import type { RetryOptions, Timing } from '../retry.ts';

export interface SentRequest {
  readonly method: string;
  /** Includes the path of the base address. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Answers a request, or rejects like a broken connection. */
export type Step = (request: SentRequest, signal: AbortSignal | undefined) => Response | Promise<Response>;

export const BASE_URL = 'http://coffer.example/v1';
/** Format of the keys that the SDK makes. */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Each request takes the next step; the last one repeats. `sent` holds all requests so far. */
export function scriptedService(...steps: readonly Step[]): {
  readonly fetch: Fetch;
  readonly sent: readonly SentRequest[];
} {
  const sent: SentRequest[] = [];
  const fetch: Fetch = async (url, { method = 'GET', headers, body, signal }) => {
    const parsed: unknown = typeof body === 'string' ? JSON.parse(body) : {};
    const { pathname, search } = new URL(url);
    const request: SentRequest = {
      method,
      path: pathname + search,
      headers: new Headers(headers),
      body: isRecord(parsed) ? parsed : {},
    };
    sent.push(request);
    const step = steps[Math.min(sent.length, steps.length) - 1];
    if (!step) throw new Error('The script is empty.');
    return step(request, signal ?? undefined);
  };
  return { fetch, sent };
}

export const answers =
  (body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Step =>
  () =>
    new Response(body === undefined ? null : JSON.stringify(body), { status, headers });

export const refuses = (
  status: number,
  code: string,
  details: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): Step => answers({ code, message: `It is ${code}.`, details }, status, headers);

/** The request may have arrived; nobody knows. */
export const losesTheReply: Step = () => Promise.reject(new TypeError('fetch failed'));

/** Never answers; ends when the caller gives up. */
export const hangs: Step = (_request, signal) =>
  new Promise((_resolve, reject) => {
    if (signal?.aborted) reject(signal.reason);
    else signal?.addEventListener('abort', () => reject(signal.reason));
  });

export interface ManualTiming extends Timing {
  /** The waits so far, in milliseconds. */
  readonly slept: readonly number[];
}

/** Sleeping takes no time but advances the clock. The random numbers are always `random`. */
export function manualTiming(random = 0): ManualTiming {
  const slept: number[] = [];
  let nowMs = 1_000;
  return {
    slept,
    nowMs: () => nowMs,
    random: () => random,
    sleep: async (delayMs, signal) => {
      signal?.throwIfAborted();
      slept.push(delayMs);
      nowMs += delayMs;
    },
  };
}

/** What the promise rejects with. Fails if it does not reject. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('It did not reject.');
}

/** The backend client of a service that answers by these steps. */
export function backendOf(steps: readonly Step[], retry: RetryOptions = {}, random = 0) {
  const service = scriptedService(...steps);
  const timing = manualTiming(random);
  const client = createBackendClient({
    baseUrl: BASE_URL,
    secretKey: 'sk_test_a',
    fetch: service.fetch,
    retry,
    timing,
  });
  return { client, sent: service.sent, timing };
}

/** The `CofferError` that the promise rejects with. */
export async function failureOf(promise: Promise<unknown>): Promise<CofferError> {
  const error = await rejectionOf(promise);
  if (error instanceof CofferError) return error;
  throw error;
}

export const codeOf = async (promise: Promise<unknown>): Promise<string> => (await failureOf(promise)).code;
