/** Monotonic time, and timers on it: passed to whatever waits, so that specs need not. */
export interface MonotonicClock {
  readonly nowMs: () => number;
  /** Runs once after the delay; the result cancels it. */
  readonly after: (delayMs: number, run: () => void) => () => void;
}

export const monotonicClock: MonotonicClock = {
  nowMs: () => performance.now(),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Waits until the delay is over or the signal aborts. */
export function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, delayMs);
    signal.addEventListener('abort', end);
  });
}

/** How long to wait after this many failures in a row: doubling from `firstMs` up to `mostMs`. */
export function backOffMs(failures: number, firstMs: number, mostMs: number): number {
  return Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 30));
}
