/** The service's own metrics, in addition to those of HTTP and of the process. */
import type { Consumer } from '@coffer/consumers';
import type { CommandHandler, StreamReturn } from '@coffer/event-store';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { hasStopped } from './readiness.ts';

/** What is called with each state that was not cached when it was needed. */
export function observeReturns(registry: Registry): (met: StreamReturn) => void {
  const seconds = new Histogram({
    name: 'coffer_state_return_seconds',
    help: 'How long it took to find a state that was not cached: on its way to a snapshot, in one, or by a fold.',
    labelNames: ['source'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers: [registry],
  });
  const events = new Counter({
    name: 'coffer_state_return_events_total',
    help: 'Events folded to find states that were not cached.',
    labelNames: ['source'],
    registers: [registry],
  });
  return ({ source, seconds: taken, foldedEvents }) => {
    seconds.observe({ source }, taken);
    events.inc({ source }, foldedEvents);
  };
}

export function observeService(
  registry: Registry,
  {
    handler,
    snapshots,
    consumers,
  }: {
    readonly handler: CommandHandler;
    readonly snapshots: { readonly forged: () => number } | undefined;
    readonly consumers: readonly Consumer[];
  },
): void {
  const counter = (name: string, help: string, read: () => number) => {
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  };
  counter(
    'coffer_snapshots_forged_total',
    'Snapshots that were asked for and not used, since this service did not write them.',
    () => snapshots?.forged() ?? 0,
  );
  counter(
    'coffer_snapshots_written_total',
    'Snapshots of states, most of which had left the cache.',
    () => handler.stats().snapshotsWritten,
  );
  counter(
    'coffer_snapshots_dropped_total',
    'Snapshots not written, for lack of room or time or because writing them failed.',
    () => handler.stats().snapshotsDropped,
  );
  counter(
    'coffer_state_cache_hits_total',
    'How often a state that was needed was cached.',
    () => handler.stats().hits,
  );
  counter(
    'coffer_state_outline_hits_total',
    'How often the outline of a state was there, which does not always suffice.',
    () => handler.stats().outlineHits,
  );
  counter(
    'coffer_state_cache_evictions_total',
    'States that had to leave the cache.',
    () => handler.stats().evictions,
  );
  const gauge = (name: string, help: string, read: () => number) => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  };
  gauge(
    'coffer_commands_pending',
    'Commands that wait for their stream or their append.',
    () => handler.stats().pending,
  );
  gauge(
    'coffer_state_cache_bytes',
    'About how much the cached states take, with those on their way to a snapshot.',
    () => handler.stats().cachedBytes,
  );
  gauge('coffer_state_cache_streams', 'Streams whose state is cached.', () => handler.stats().cachedStreams);
  gauge(
    'coffer_state_cache_outlines',
    'Further streams of which the outline of a state is cached.',
    () => handler.stats().outlinedStreams,
  );

  gauge(
    'coffer_snapshots_waiting',
    'States on their way to a snapshot.',
    () => handler.stats().snapshotsWaiting,
  );

  const ofConsumers = (
    name: string,
    help: string,
    read: (status: ReturnType<Consumer['status']>) => number | undefined,
  ) => {
    new Gauge({
      name,
      help,
      labelNames: ['consumer'],
      registers: [registry],
      collect() {
        this.reset();
        for (const consumer of consumers) {
          const status = consumer.status();
          const value = read(status);
          if (value !== undefined) this.set({ consumer: status.name }, value);
        }
      },
    });
  };
  ofConsumers('coffer_consumer_lag_events', 'Events of the log that it has not taken.', (s) => s.lagEvents);
  ofConsumers('coffer_consumer_lag_seconds', 'How far behind the end of the log it is.', (s) => s.lagSeconds);
  ofConsumers('coffer_consumer_live', '1 while it runs here, has reached the end and follows it.', (s) =>
    Number(s.state === 'live'),
  );
  ofConsumers('coffer_consumer_stopped', '1 when it has stopped for good: someone must look.', (s) =>
    Number(hasStopped(s)),
  );
  ofConsumers(
    'coffer_process_pending',
    'Causes whose effect has not appeared in the log.',
    (s) => s.pending?.count,
  );
  ofConsumers('coffer_process_oldest_seconds', 'Age of the oldest of them.', (s) => s.pending?.oldestSeconds);
  ofConsumers(
    'coffer_process_failures',
    'Acts that failed since the lease was taken.',
    (s) => s.pending?.failures,
  );
}
