/** Topics as the relay finds or makes them. */
import type { Admin, ConfigResourceTypes, ITopicConfig, Kafka } from 'kafkajs';
import { withAdmin } from './client.ts';
import { KafkaFailure } from './failures.ts';
import type { KafkaSettings } from './settings.ts';

const config = (entries: Readonly<Record<string, string>>) =>
  Object.entries(entries).map(([name, value]) => ({ name, value }));

/** The client exports its enum for CommonJS alone. */
const TOPIC: ConfigResourceTypes.TOPIC = 2;

/** Facts are kept for ever, and the largest append fits. */
const FACTS = config({ 'cleanup.policy': 'delete', 'retention.ms': '-1', 'max.message.bytes': '2097152' });

/** Small segments that are compacted soon: a relay that starts reads all of it. */
const PLACES = config({
  'cleanup.policy': 'compact',
  'segment.bytes': '4194304',
  'segment.ms': '3600000',
  'min.cleanable.dirty.ratio': '0.1',
  'delete.retention.ms': '60000',
});

export interface Topics {
  /** Creates those that do not exist yet, or throws `kafka/topic_missing`. */
  readonly ensure: (names: ReadonlySet<string>) => Promise<void>;
}

/** Makes sure of the topic of places, without which nothing can begin. */
export async function openTopics(kafka: Kafka, settings: KafkaSettings, places: string): Promise<Topics> {
  const known = new Set<string>();
  const ensure = async (names: ReadonlySet<string>): Promise<void> => {
    const unknown = [...names].filter((name) => !known.has(name));
    if (unknown.length === 0) return;
    await withAdmin(kafka, async (admin) => {
      const existing = new Set(await admin.listTopics());
      const missing = unknown.filter((name) => !existing.has(name));
      const { create } = settings;
      if (missing.length > 0 && !create) throw new KafkaFailure('kafka/topic_missing', missing.join(', '));
      if (missing.length > 0 && create) {
        const topics = missing.map((topic): ITopicConfig => {
          const shape =
            topic === places
              ? { numPartitions: 1, configEntries: PLACES }
              : { numPartitions: create.partitions, configEntries: FACTS };
          return {
            topic,
            ...shape,
            ...(create.replicas !== undefined && { replicationFactor: create.replicas }),
          };
        });
        await admin.createTopics({ topics, waitForLeaders: true });
      }
      if (unknown.includes(places)) await refuseOtherShape(admin, places);
    });
    for (const name of unknown) known.add(name);
  };
  await ensure(new Set([places]));
  return { ensure };
}

/** It would lose places unless it is compacted. Whoever reads it ends at a message of their own, which ends one partition. */
async function refuseOtherShape(admin: Admin, places: string): Promise<void> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: TOPIC, name: places, configNames: ['cleanup.policy'] }],
  });
  const policy = resources[0]?.configEntries[0]?.configValue;
  if (policy !== 'compact') throw new KafkaFailure('kafka/places_not_compacted', `${places}: ${policy}`);
  const { topics } = await admin.fetchTopicMetadata({ topics: [places] });
  const partitions = topics[0]?.partitions.length;
  if (partitions !== 1)
    throw new KafkaFailure('kafka/places_partitioned', `${places}: ${partitions} partitions`);
}
