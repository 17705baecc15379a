/**
 * Publishes under a transactional id: messages, and the places reached with them, in one transaction. Whoever opens it
 * later fences this one, whose open transaction is then aborted and which cannot write any more; the places that are
 * read after that are the truth.
 */
import { randomUUID } from 'node:crypto';
import type { Kafka, TopicMessages } from 'kafkajs';
import { createProducer } from './client.ts';
import { type Message, sizeOf } from './domain/messages.ts';
import { failureOf, KafkaFailure } from './failures.ts';
import type { RecordMessage } from './produceRequest.ts';
import type { Topics } from './topics.ts';

/** By key. */
type Places = ReadonlyMap<string, string>;

export interface Publisher {
  /** As of when it was opened, those that begin with its name. */
  readonly places: Places;
  /** All or nothing. After a failure, only closing it makes sense: the outcome is in the places of the next one. */
  readonly publish: (messages: readonly Message[], places: Places, mostBytes: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** A batch that was refused for its size. */
export class TooLargeError extends KafkaFailure {
  /** Which of the messages were in it. */
  readonly from: number;
  readonly count: number;
  /** About how large it was. */
  readonly bytes: number;

  constructor({ from, count, bytes }: Pick<TooLargeError, 'from' | 'count' | 'bytes'>, cause: KafkaFailure) {
    super('kafka/message_too_large', cause.message, cause);
    this.from = from;
    this.count = count;
    this.bytes = bytes;
  }
}

export interface PublisherOptions {
  readonly kafka: Kafka;
  readonly topics: Topics;
  readonly placesTopic: string;
  /** The transactional id, and the first part of the keys of its places. */
  readonly name: string;
}

export async function openPublisher({
  kafka,
  topics,
  placesTopic,
  name,
}: PublisherOptions): Promise<Publisher> {
  const producer = createProducer(kafka, name);
  try {
    await producer.connect();
    // The first transaction fences. Places are read up to its message, which is after all that others have committed.
    const opened = { key: `opened.${name}`, value: randomUUID() };
    const transaction = await producer.transaction();
    await transaction.send({
      topic: placesTopic,
      acks: -1,
      messages: [placeMessage(opened.key, opened.value)],
    });
    await transaction.commit();
    const places = await readPlaces(kafka, placesTopic, name, opened);
    return {
      places,
      publish,
      close: () => producer.disconnect(),
    };
  } catch (error) {
    await producer.disconnect();
    throw failureOf(error);
  }

  async function publish(messages: readonly Message[], reached: Places, mostBytes: number): Promise<void> {
    await topics.ensure(new Set(messages.map(({ topic }) => topic)));
    try {
      const transaction = await producer.transaction();
      const placed = [...reached].map(([key, value]) => placeMessage(key, value));
      for (const batch of batchesOf(messages, mostBytes)) {
        const { topicMessages, isLast } = batch;
        const all = isLast ? [...topicMessages, { topic: placesTopic, messages: placed }] : topicMessages;
        try {
          await transaction.sendBatch({ acks: -1, topicMessages: all });
        } catch (error) {
          const failure = failureOf(error);
          throw failure.code === 'kafka/message_too_large' ? new TooLargeError(batch, failure) : failure;
        }
      }
      await transaction.commit();
    } catch (error) {
      throw failureOf(error);
    }
  }
}

interface Batch {
  readonly from: number;
  readonly count: number;
  readonly bytes: number;
  readonly topicMessages: TopicMessages[];
  readonly isLast: boolean;
}

/** What a partition is sent at once is one batch to it, whose size brokers limit: no partition gets more than all do. */
function* batchesOf(messages: readonly Message[], mostBytes: number): Generator<Batch> {
  let from = 0;
  do {
    let to = from;
    let bytes = 0;
    for (; to < messages.length; to++) {
      const message = messages[to];
      const size = message ? sizeOf(message) : 0;
      if (to > from && bytes + size > mostBytes) break;
      bytes += size;
    }
    const byTopic = Map.groupBy(messages.slice(from, to), ({ topic }) => topic);
    const topicMessages = [...byTopic].map(([topic, ofTopic]) => ({ topic, messages: ofTopic }));
    yield { from, count: to - from, bytes, topicMessages, isLast: to >= messages.length };
    from = to;
  } while (from < messages.length);
}

const placeMessage = (key: string, value: string): RecordMessage => ({
  key,
  value: Buffer.from(value),
  headers: {},
  timestamp: String(Date.now()),
});

/** Longer than a broker takes that has just started. */
const MOST_READING_MS = 30_000;

async function readPlaces(
  kafka: Kafka,
  topic: string,
  name: string,
  end: { readonly key: string; readonly value: string },
): Promise<Places> {
  const places = new Map<string, string>();
  // A group that nobody else is in: it never waits for a relay that has died.
  const consumer = kafka.consumer({
    groupId: `${name}.${randomUUID()}`,
    readUncommitted: false,
    allowAutoTopicCreation: false,
    maxWaitTimeInMs: 100,
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const limit = setTimeout(
    () => reject(new KafkaFailure('kafka/unreachable', `${topic} cannot be read to its end`)),
    MOST_READING_MS,
  );
  try {
    consumer.on('consumer.crash', ({ payload }) => reject(payload.error));
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      async eachMessage({ message }) {
        const key = String(message.key);
        const value = String(message.value);
        if (key.startsWith(`${name}.`)) places.set(key, value);
        if (key === end.key && value === end.value) resolve();
      },
    });
    await promise;
    return places;
  } finally {
    clearTimeout(limit);
    await consumer.disconnect();
  }
}
