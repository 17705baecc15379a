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
/** On a slow machine even a service without work exceeds that share: nothing that follows its consumers takes longer. */
const SETTLED_AFTER_MS = 2_000;

export async function processFigures(origin: string, signal: AbortSignal): Promise<ProcessFigures> {
  const text = await metricsOf(origin, signal);
  return {
    cpuSeconds: figureOf(text, CPU_SECONDS),
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
  let caughtUpMs: number | undefined;
  let before = await metricsOf(origin, signal);
  while (performance.now() < deadlineMs) {
    await delay(REST_INTERVAL_MS, undefined, { signal });
    const now = await metricsOf(origin, signal);
    const cpuSeconds = figureOf(now, CPU_SECONDS) - figureOf(before, CPU_SECONDS);
    before = now;
    if (isLagging(now)) {
      caughtUpMs = undefined;
      continue;
    }
    caughtUpMs ??= performance.now();
    const isSettled = performance.now() - caughtUpMs > SETTLED_AFTER_MS;
    if (isSettled || cpuSeconds / (REST_INTERVAL_MS / 1_000) < REST_SHARE_OF_CPU) return;
  }
}

const isLagging = (text: string): boolean =>
  [...text.matchAll(/^coffer_consumer_lag_seconds\{.*\} (\S+)$/gm)].some(
    ([, seconds]) => Number(seconds) > 0,
  );

async function metricsOf(origin: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(`${origin}/metrics`, { signal });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`/metrics answered ${response.status}.`);
  return text;
}

const CPU_SECONDS = 'process_cpu_seconds_total';

function figureOf(text: string, name: string): number {
  const found = new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1];
  const value = Number(found);
  if (found === undefined || !Number.isFinite(value)) throw new Error(`/metrics has no ${name}.`);
  return value;
}
