/** Metrics of requests and the process, for Prometheus. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';
import { AggregatorRegistry, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** What a registry tells, as data: another thread can be given it. */
export type MetricFigures = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/**
 * A registry with the metrics of this thread, and with those of the process if it is the main one. One per thread: it
 * starts observers.
 */
export function createMetricsRegistry(thread = 'api'): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, ...(!isMainThread && { labels: { thread } }) });
  if (!isMainThread) {
    for (const { name } of registry.getMetricsAsArray()) {
      if (name.startsWith('process_')) registry.removeSingleMetric(name);
    }
  }
  observeLoopDelay(registry, thread);
  return registry;
}

/** Less than what a scrape waits for; a thread that answers does so within milliseconds. */
const OTHERS_LIMIT_MS = 2_000;

/**
 * The page of a registry with the figures of other threads added to it. One that hangs is not waited for any longer:
 * the page is then without its figures, and says so.
 */
export async function metricsText(
  registry: Registry,
  askOthers: () => Promise<readonly MetricFigures[]>,
  limitMs = OTHERS_LIMIT_MS,
): Promise<string> {
  const answered = await withinLimit(askOthers(), limitMs);
  completenessOf(registry).set(answered ? 1 : 0);
  const ofOthers = answered ?? [];
  if (ofOthers.length === 0) return registry.metrics();
  const own = (await registry.getMetricsAsJSON()).map((metric) =>
    // Left out otherwise, for want of a sum: the process's start.
    metric.aggregator === 'omit' ? { ...metric, aggregator: 'first' } : metric,
  );
  return AggregatorRegistry.aggregate([own, ...ofOthers]).metrics();
}

/** Undefined if it takes longer. */
export async function withinLimit<Value>(asked: Promise<Value>, limitMs: number): Promise<Value | undefined> {
  const timer = new AbortController();
  try {
    const { signal } = timer;
    return await Promise.race([asked, delay(limitMs, undefined, { signal, ref: false })]);
  } finally {
    timer.abort();
  }
}

const COMPLETE = 'coffer_metrics_complete';

const completenessOf = (registry: Registry): Gauge =>
  // Nothing else has this name.
  (registry.getSingleMetric(COMPLETE) as Gauge | undefined) ??
  new Gauge({
    name: COMPLETE,
    help: '1 if all threads of the process told their metrics, 0 if one did not answer in time.',
    registers: [registry],
    aggregator: 'first',
  });

/** The monitor counts how late its own timer is, which is due this often. */
const LOOP_TIMER_MS = 1;

function observeLoopDelay(registry: Registry, thread: string): void {
  const delays = monitorEventLoopDelay({ resolution: LOOP_TIMER_MS });
  delays.enable();
  new Gauge({
    name: 'coffer_event_loop_delay_seconds',
    help: 'How long what was due waited for the thread, since metrics were last read; quantile 1 is the longest.',
    labelNames: ['thread', 'quantile'],
    registers: [registry],
    collect() {
      for (const quantile of [0.5, 0.99, 1]) {
        const intervalMs = delays.count === 0 ? 0 : delays.percentile(quantile * 100) / 1e6;
        this.set({ thread, quantile }, Math.max(0, intervalMs - LOOP_TIMER_MS) / 1000);
      }
      delays.reset();
    },
  });
}

export interface HttpMetrics {
  readonly forRoute: (method: string, route: string) => (status: number, seconds: number) => void;
}

/** One per registry: several apps of a process are counted together. */
interface HttpNumbers {
  readonly duration: Histogram<'method' | 'route' | 'status'>;
  readonly inFlight: (() => number)[];
}
const numbersOf = new WeakMap<Registry, HttpNumbers>();

function registerNumbers(registry: Registry): HttpNumbers {
  const inFlight: HttpNumbers['inFlight'] = [];
  const duration = new Histogram({
    name: 'coffer_http_request_duration_seconds',
    help: 'From the request line to the end of the answer, by route template and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  new Gauge({
    name: 'coffer_http_requests_in_flight',
    help: 'Requests being served now.',
    registers: [registry],
    collect() {
      this.set(inFlight.reduce((sum, ofOneApp) => sum + ofOneApp(), 0));
    },
  });
  return { duration, inFlight };
}

/** `route` is the template, so that the number of series is bounded by the number of endpoints. */
export function createHttpMetrics(registry: Registry, inFlight: () => number): HttpMetrics {
  const numbers = numbersOf.get(registry) ?? registerNumbers(registry);
  numbersOf.set(registry, numbers);
  numbers.inFlight.push(inFlight);
  const { duration } = numbers;

  return {
    forRoute: (method, route) => {
      const byStatus = new Map<number, Histogram.Internal<'method' | 'route' | 'status'>>();
      return (status, seconds) => {
        let series = byStatus.get(status);
        if (!series) {
          series = duration.labels(method, route, String(status));
          byStatus.set(status, series);
        }
        series.observe(seconds);
      };
    },
  };
}
