/** Reads topics as their consumers do: committed messages alone. */
import { eventually } from '@coffer/testing';
import { Kafka, logLevel } from 'kafkajs';

export interface ReadMessage {
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
  readonly key: string;
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
}

let readers = 0;

export const specClient = (brokers: string, initialRetryTime = 300): Kafka =>
  new Kafka({
    clientId: 'spec',
    brokers: [brokers],
    logLevel: logLevel.NOTHING,
    retry: { retries: 20, initialRetryTime, maxRetryTime: 1_000 },
  });

/** Everything in these topics, once they all exist and `isAll` says that it is everything. */
export async function readTopics(
  brokers: string,
  topics: ReadonlySet<string>,
  isAll: (messages: readonly ReadMessage[]) => boolean,
): Promise<readonly ReadMessage[]> {
  readers += 1;
  const kafka = specClient(brokers);
  const admin = kafka.admin();
  await admin.connect();
  const names = [...topics];
  await eventually(`the topics ${names}`, async () => {
    const existing = new Set(await admin.listTopics());
    return names.every((name) => existing.has(name)) || undefined;
  });
  await admin.disconnect();
  const consumer = kafka.consumer({
    groupId: `spec-${process.pid}-${readers}`,
    maxWaitTimeInMs: 50,
    maxBytesPerPartition: 4 * 1024 * 1024,
  });
  const messages: ReadMessage[] = [];
  await consumer.connect();
  try {
    await consumer.subscribe({ topics: names, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      async eachMessage({ topic, partition, message: { offset, key, value, headers } }) {
        const texts = Object.entries(headers ?? {}).map(([name, text]) => [name, String(text)]);
        messages.push({
          topic,
          partition,
          offset,
          key: String(key),
          value: String(value),
          headers: Object.fromEntries(texts),
        });
      },
    });
    await eventually(
      () => `everything is read of ${names}: ${messages.length}`,
      () => isAll(messages) || undefined,
    );
    return messages;
  } finally {
    await consumer.disconnect();
  }
}
