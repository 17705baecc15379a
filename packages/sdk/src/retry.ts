/** When a call is made again, and when it is given up. */
import type { CofferError } from './cofferError.ts';
import type { Signal } from './platform.ts';

export interface RetryOptions {
  /** All attempts of a call together, with the waits between them. Default 30,000. */
  readonly deadlineMs?: number;
  /** One attempt; then it counts as unanswered. Default 10,000. */
  readonly attemptTimeoutMs?: number;
  /** The wait after the first attempt, half of it by chance; each further one is twice as long. Default 200. */
  readonly firstDelayMs?: number;
  /** Default 5,000. What the service asks to wait is not cut. */
  readonly longestDelayMs?: number;
}

export interface CallOptions {
  /** Instead of the deadline of the client. */
  readonly deadlineMs?: number;
  /** Ends the call and its retries; the call then rejects with the reason of the signal. */
  readonly signal?: Signal;
}

/** The clock and the dice, so that specs wait for nothing. */
export interface Timing {
  /** Monotonic. */
  readonly nowMs: () => number;
  /** Rejects with the reason of the signal when that comes first. */
  readonly sleep: (delayMs: number, signal: Signal | undefined) => Promise<void>;
  /** At least 0, less than 1. */
  readonly random: () => number;
}

/** Timers count whole milliseconds in 32 bits: a fraction is refused by some, and what is longer ends at once. */
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
 * Makes attempts until one is done or is not to be made again, or until the next one would begin after the deadline.
 * Returns the attempt that came last, and whether any of them left open what has happened.
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
    // The first attempt is made in any case, so that a deadline that is over says what the service says.
    const last = await attempt(Math.max(1, Math.min(retry.attemptTimeoutMs, leftMs)));
    if (!last.done) anyUnknown ||= last.failure.outcome === 'unknown';
    if (last.done || !last.again) return { last, anyUnknown };

    const delayMs = delayAfter(attempts, last.failure.retryAfterMs ?? 0, retry, timing.random());
    if (timing.nowMs() + delayMs >= deadline) return { last, anyUnknown };
    await timing.sleep(delayMs, signal);
  }
}

/**
 * Twice as long after each attempt, half of it by chance, so that callers that failed together do not come back
 * together. What the service asks for is waited in full, and the chance comes on top.
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
