/** Kafka: every event of the log, once and in order, in topics; what webhooks tell; and the schemas of events. */
import { defineContext, type Platform } from '@coffer/host';
import { kafkaErrors } from './errors.ts';
import { observeRelay } from './metrics.ts';
import { KAFKA_CONSUMER, startRelay } from './relay.ts';
import { schemaEndpoints } from './schemaRoutes.ts';
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
  errors: kafkaErrors,
  // A stream with a gap would be a wrong one.
  unskippable: [KAFKA_CONSUMER.name],
  create({ registry, whole, kafka: settings, toldEvents }: Platform & KafkaNeeds) {
    const endpoints = schemaEndpoints(whole.streams);
    if (!settings) return { endpoints };
    return {
      endpoints,
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
