/** When a call is repeated, and when it is given up. */
import type { CofferError } from './cofferError.ts';
import type { Signal } from './platform.ts';

export interface RetryOptions {
  /** All attempts of a call together, with the waits between them. Default 30,000. */
  readonly deadlineMs?: number;
  /** For one attempt; after that it counts as unanswered. Default 10,000. */
  readonly attemptTimeoutMs?: number;
  /**
   * The wait after the first attempt, half of it random; it doubles with each further attempt. Default 200.
   */
  readonly firstDelayMs?: number;
  /** Default 5,000. A wait requested by the service is not shortened. */
  readonly longestDelayMs?: number;
}

export interface CallOptions {
  /** Replaces the client's deadline. */
  readonly deadlineMs?: number;
  /** Ends the call and its retries; the call then rejects with the signal's reason. */
  readonly signal?: Signal;
}

/** Clock and random numbers, replaceable so that specs need not wait. */
export interface Timing {
  /** Monotonic. */
  readonly nowMs: () => number;
  /** Rejects with the signal's reason if it is aborted first. */
  readonly sleep: (delayMs: number, signal: Signal | undefined) => Promise<void>;
  /** At least 0, less than 1. */
  readonly random: () => number;
}

/**
 * Timers count whole milliseconds in 32 bits: some refuse a fraction, and a longer wait would end at once.
 */
export const timerMs = (delayMs: number): number => Math.min(2 ** 31 - 1, Math.ceil(delayMs));

const systemTiming: Timing = {
  nowMs: () => performance.now(),
  sleep: (delayMs, signal) =>
    new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', stop);
        resolve();
      }, timerMs(delayMs));
      if (signal?.aborted) stop();
      else signal?.addEventListener('abort', stop, { once: true });
    }),
  random: () => Math.random(),
};

export interface RetryPolicy {
  readonly retry: Required<RetryOptions>;
  readonly timing: Timing;
}

export function retryPolicyOf(options: RetryOptions = {}, timing: Timing = systemTiming): RetryPolicy {
  const {
    deadlineMs = 30_000,
    attemptTimeoutMs = 10_000,
    firstDelayMs = 200,
    longestDelayMs = 5_000,
  } = options;
  const retry = { deadlineMs, attemptTimeoutMs, firstDelayMs, longestDelayMs };
  for (const [name, value] of Object.entries(retry)) checkNumber(name, value);
  return { retry, timing };
}

function checkNumber(name: string, value: number): void {
  if (Number.isNaN(value)) throw new RangeError(`${name} must be a number of milliseconds.`);
}

/** How an attempt ended. */
export type Attempt<Value> =
  | { readonly done: true; readonly value: Value }
  | { readonly done: false; readonly again: boolean; readonly failure: CofferError };

/**
 * Makes attempts until one is done or must not be repeated, or until the next one would begin after the
 * deadline. Returns the last attempt, and whether any of them left open what has happened.
 */
export async function attemptUntilDeadline<Value>(
  { retry, timing }: RetryPolicy,
  { deadlineMs = retry.deadlineMs, signal }: CallOptions,
  attempt: (timeoutMs: number) => Promise<Attempt<Value>>,
): Promise<{ readonly last: Attempt<Value>; readonly anyUnknown: boolean }> {
  checkNumber('deadlineMs', deadlineMs);
  const deadline = timing.nowMs() + deadlineMs;
  let anyUnknown = false;
  for (let attempts = 1; ; attempts += 1) {
    signal?.throwIfAborted();
    const leftMs = deadline - timing.nowMs();
    // The first attempt is always made, so that even a deadline already passed yields the service's answer.
    const last = await attempt(Math.max(1, Math.min(retry.attemptTimeoutMs, leftMs)));
    if (!last.done) anyUnknown ||= last.failure.outcome === 'unknown';
    if (last.done || !last.again) return { last, anyUnknown };

    const delayMs = delayAfter(attempts, last.failure.retryAfterMs ?? 0, retry, timing.random());
    if (timing.nowMs() + delayMs >= deadline) return { last, anyUnknown };
    await timing.sleep(delayMs, signal);
  }
}

/**
 * Doubles after each attempt, half of it random, so that callers that failed together do not return together.
 * A wait requested by the service is observed in full, with the random part on top.
 */
function delayAfter(
  attempts: number,
  retryAfterMs: number,
  { firstDelayMs, longestDelayMs }: Required<RetryOptions>,
  random: number,
): number {
  const fullMs = Math.min(longestDelayMs, firstDelayMs * 2 ** (attempts - 1));
  const delayMs = fullMs / 2 + (fullMs / 2) * random;
  return retryAfterMs > 0 ? retryAfterMs + delayMs : delayMs;
}
