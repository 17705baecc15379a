import { setTimeout as delay } from 'node:timers/promises';

/** Ends early, without an error, when the signal aborts. */
export async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(delayMs, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
