/** The relay's own metrics; its lag and whether it has stopped are among those of all consumers, as `kafka`. */
import type { Registry } from '@coffer/http';
import { Counter, Gauge } from 'prom-client';
import type { RelayObserver } from './relay.ts';

export function observeRelay(registry: Registry): RelayObserver {
  const registers = [registry];
  const connected = new Gauge({
    name: 'coffer_kafka_connected',
    help: '1 while the relay runs here and its last request to Kafka has succeeded.',
    registers,
  });
  const published = new Counter({
    name: 'coffer_kafka_published_total',
    help: 'Messages committed: facts of the log, and envelopes of webhooks.',
    labelNames: ['what'],
    registers,
  });
  const failures = new Counter({
    name: 'coffer_kafka_failures_total',
    help: 'Failures of Kafka, by their code: docs/kafka.md says what follows.',
    labelNames: ['code'],
    registers,
  });
  return {
    onConnected: () => connected.set(1),
    onPublished(what, count) {
      connected.set(1);
      published.inc({ what }, count);
    },
    onFailure({ code }) {
      connected.set(0);
      failures.inc({ code });
    },
  };
}
