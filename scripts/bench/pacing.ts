/** Requests at a fixed rate, whether or not the earlier ones have been answered, and what their latencies show. */

export interface Pace {
  readonly perSecond: number;
  readonly requests: number;
}

export interface PaceClock {
  readonly nowMs: () => number;
  readonly pause: (delayMs: number) => Promise<void>;
}

const realClock: PaceClock = {
  nowMs: () => performance.now(),
  pause: (delayMs) => new Promise((resolve) => setTimeout(resolve, delayMs)),
};

/**
 * Calls `send` for each request with the time at which it is due. A latency counted from there includes the time for which
 * a slow server, or a slow generator, kept the request from being sent. Resolves with how late each was sent, in
 * milliseconds, once all are.
 */
export async function atRate(
  { perSecond, requests }: Pace,
  send: (dueMs: number) => void,
  { nowMs, pause }: PaceClock = realClock,
): Promise<Float64Array> {
  const lateMs = new Float64Array(requests);
  const startMs = nowMs();
  for (let sent = 0; sent < requests; ) {
    const now = nowMs();
    for (; sent < requests; sent++) {
      const dueMs = startMs + (sent * 1_000) / perSecond;
      if (dueMs > now) break;
      lateMs[sent] = now - dueMs;
      send(dueMs);
    }
    // To spin until the next one is due would take a core from what is measured.
    if (sent < requests) await pause(1);
  }
  return lateMs;
}

/** Of sorted values. 0 if there are none. */
export function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
