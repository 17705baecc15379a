/** Waiting that ends at once when it is aborted. */
import type { MonotonicClock } from '@coffer/consumers';

/** The result of the promise, unless the signal aborts first: then its reason is thrown. */
export function untilAborted<Value>(signal: AbortSignal, promise: Promise<Value>): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort);
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', onAbort));
}

export async function pauseOn(clock: MonotonicClock, delayMs: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(delayMs, resolve);
  await untilAborted(signal, promise).finally(cancel);
}

export type Gate = ReturnType<typeof createGate>;

/** Admits a limited number at a time; the others wait in order of arrival. */
export function createGate(width: number) {
  const waiting = new Set<() => void>();
  let inside = 0;

  return {
    async through<Value>(signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
      if (inside >= width) await turn(signal);
      else inside += 1;
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };

  /** Whoever leaves hands over the place. */
  async function turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.add(resolve);
    try {
      await untilAborted(signal, promise);
    } catch (error) {
      // A place that was handed over at the same moment passes to the next.
      if (!waiting.delete(resolve)) leave();
      throw error;
    }
  }

  function leave(): void {
    const [next] = waiting;
    if (!next) {
      inside -= 1;
      return;
    }
    waiting.delete(next);
    next();
  }
}
