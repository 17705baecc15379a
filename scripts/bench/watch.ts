/** What the service's metrics say: its memory, and whether it has come to rest. */
import { setTimeout as delay } from 'node:timers/promises';

export interface ProcessFigures {
  readonly cpuSeconds: number;
  readonly residentMiB: number;
  /** How long what was due waited for the API thread, since the metrics were last read. */
  readonly loopDelayP99Ms: number;
}

/** Projections of hundreds of thousands of bets take that long. */
const REST_LIMIT_MS = 60_000;
const REST_INTERVAL_MS = 200;
const REST_SHARE_OF_CPU = 0.08;

export async function processFigures(origin: string, signal: AbortSignal): Promise<ProcessFigures> {
  const response = await fetch(`${origin}/metrics`, { signal });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`/metrics answered ${response.status}.`);
  return {
    cpuSeconds: figureOf(text, 'process_cpu_seconds_total'),
    residentMiB: figureOf(text, 'process_resident_memory_bytes') / 1024 / 1024,
    loopDelayP99Ms:
      figureOf(text, 'coffer_event_loop_delay_seconds\\{thread="api",quantile="0.99"\\}') * 1_000,
  };
}

/**
 * Waits until the service has nothing left to do (its projections have caught up), so that the route measured
 * next does not pay for it. Stops waiting after a minute.
 */
export async function comeToRest(origin: string, signal: AbortSignal): Promise<void> {
  const deadlineMs = performance.now() + REST_LIMIT_MS;
  let before = await processFigures(origin, signal);
  while (performance.now() < deadlineMs) {
    await delay(REST_INTERVAL_MS, undefined, { signal });
    const now = await processFigures(origin, signal);
    if ((now.cpuSeconds - before.cpuSeconds) / (REST_INTERVAL_MS / 1_000) < REST_SHARE_OF_CPU) return;
    before = now;
  }
}

function figureOf(text: string, name: string): number {
  const found = new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1];
  const value = Number(found);
  if (found === undefined || !Number.isFinite(value)) throw new Error(`/metrics has no ${name}.`);
  return value;
}
