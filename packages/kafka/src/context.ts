/** Kafka: every event of the log, once and in order, in topics; and what webhooks tell. */
import { defineContext, type Platform } from '@coffer/host';
import { observeRelay } from './metrics.ts';
import { KAFKA_CONSUMER, startRelay } from './relay.ts';
import type { KafkaSettings } from './settings.ts';
import type { ToldEvents } from './toldEvents.ts';

export interface KafkaGiven {
  /** Undefined: nothing is published. */
  readonly kafka: KafkaSettings | undefined;
}

interface KafkaNeeds extends KafkaGiven {
  readonly toldEvents: ToldEvents;
}

export const kafkaContext = defineContext({
  name: 'kafka',
  // A stream with a gap would be a wrong one.
  unskippable: [KAFKA_CONSUMER.name],
  create({ registry, kafka: settings, toldEvents }: Platform & KafkaNeeds) {
    if (!settings) return {};
    return {
      workers: [
        {
          role: 'kafka-relay',
          start(shared) {
            const relay = startRelay({ ...shared, settings, toldEvents, observer: observeRelay(registry) });
            return { consumers: [relay], stop: relay.stop };
          },
        },
      ],
    };
  },
});
