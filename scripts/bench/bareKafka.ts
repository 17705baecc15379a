/**
 * The yardstick of the relay, in a process of its own: kafkajs as it is sends the same bytes in the same transactions, which
 * are made before it begins. Answers every order with the messages a second.
 */
import { createPostgresEventStore } from '@coffer/event-store/postgres';
import { factMessage, type Message, sizeOf } from '../../packages/kafka/src/domain/messages.ts';
import { topicNames } from '../../packages/kafka/src/domain/topics.ts';
import type { KafkaSettings } from '../../packages/kafka/src/settings.ts';
import { specClient } from '../../packages/kafka/src/testing/topicReader.ts';

export interface BareOrder {
  readonly databaseUrl: string;
  readonly settings: KafkaSettings;
  readonly partitions: number;
  readonly pageSize: number;
  readonly batchBytes: number;
}

async function bare({ databaseUrl, settings, partitions, pageSize, batchBytes }: BareOrder): Promise<number> {
  const store = createPostgresEventStore({ connectionString: databaseUrl, applicationName: 'bench log' });
  const names = topicNames(settings.topicPrefix);
  const messages: Message[] = [];
  for await (const page of store.readAll({})) {
    for (const event of page) messages.push(factMessage(event, messages.length + 1, names));
  }
  await store.close();
  // A transaction that follows another at once is refused for some milliseconds.
  const kafka = specClient(settings.brokers.join(), 5);
  const admin = kafka.admin();
  await admin.connect();
  const topics = [...new Set(messages.map(({ topic }) => topic))];
  await admin.createTopics({ topics: topics.map((topic) => ({ topic, numPartitions: partitions })) });
  await admin.disconnect();
  const producer = kafka.producer({
    transactionalId: `${settings.topicPrefix}.bare`,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  const beganMs = performance.now();
  for (let at = 0; at < messages.length; at += pageSize) {
    const transaction = await producer.transaction();
    for (const batch of batchesOf(messages.slice(at, at + pageSize), batchBytes)) {
      const byTopic = Map.groupBy(batch, ({ topic }) => topic);
      await transaction.sendBatch({
        acks: -1,
        topicMessages: [...byTopic].map(([topic, ofTopic]) => ({ topic, messages: ofTopic })),
      });
    }
    await transaction.commit();
  }
  const seconds = (performance.now() - beganMs) / 1_000;
  await producer.disconnect();
  return messages.length / seconds;
}

function* batchesOf(messages: readonly Message[], batchBytes: number): Generator<readonly Message[]> {
  let batch: Message[] = [];
  let bytes = 0;
  for (const message of messages) {
    bytes += sizeOf(message);
    if (bytes > batchBytes && batch.length > 0) {
      yield batch;
      batch = [];
      bytes = sizeOf(message);
    }
    batch.push(message);
  }
  yield batch;
}

process.on('message', (order: BareOrder) => {
  bare(order).then(
    (perSecond) => process.send?.(perSecond),
    (error: unknown) => {
      throw error;
    },
  );
});
// The parent is gone: nobody is left to report to.
process.on('disconnect', () => process.exit(0));
