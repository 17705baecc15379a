/** The service's own metrics, in addition to those of HTTP and of the process. */
import type { Consumer } from '@coffer/consumers';
import type { CommandHandler } from '@coffer/event-store';
import { Counter, Gauge, type Registry } from 'prom-client';
import { hasStopped } from './readiness.ts';

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
  new Counter({
    name: 'coffer_snapshots_forged_total',
    help: 'Snapshots that were asked for and not used, since this service did not write them.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(snapshots?.forged() ?? 0);
    },
  });
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
    'About how much the cached states take.',
    () => handler.stats().cachedBytes,
  );
  gauge('coffer_state_cache_streams', 'Streams whose state is cached.', () => handler.stats().cachedStreams);

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
  ofConsumers('coffer_consumer_live', '1 while it runs here and has reached the end.', (s) =>
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
