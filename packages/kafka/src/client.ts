/**
 * The client of the brokers, loaded by those who have some. What it logs stays inside: every failure reaches the relay,
 * which reports it once.
 */
import type { Admin, Kafka, RetryOptions, SASLOptions } from 'kafkajs';
import { failureOf, KafkaFailure } from './failures.ts';
import { partitionByKey } from './partitioner.ts';
import { encodeProduceRequests } from './produceRequest.ts';
import type { KafkaSettings } from './settings.ts';

/**
 * A transaction that follows another at once is refused until the former has been written everywhere, which takes
 * milliseconds: the first pauses are short. A broker that is away is left to the consumer's own pauses.
 */
const RETRY: RetryOptions = {
  initialRetryTime: 5,
  factor: 0.2,
  multiplier: 2,
  maxRetryTime: 1_000,
  retries: 9,
};
/** Longer than any page takes, and short: readers wait for a transaction whose relay has died. */
const TRANSACTION_TIMEOUT_MS = 30_000;

export async function createClient({ brokers, tls, sasl }: KafkaSettings): Promise<Kafka> {
  const { Kafka, logLevel } = await import('kafkajs');
  encodeProduceRequests();
  return new Kafka({
    clientId: 'coffer',
    brokers: [...brokers],
    connectionTimeout: 3_000,
    authenticationTimeout: 5_000,
    requestTimeout: 15_000,
    retry: RETRY,
    ssl: tls ? (tls.authorities === undefined ? true : { ca: [tls.authorities] }) : false,
    // The three mechanisms take the same fields; the client's type has one member for each.
    ...(sasl && { sasl: sasl as SASLOptions }),
    logLevel: logLevel.NOTHING,
  });
}

export const createProducer = (kafka: Kafka, transactionalId: string) =>
  kafka.producer({
    transactionalId,
    // Of the second producer that the client would open for messages outside transactions: there are none.
    idempotent: false,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    transactionTimeout: TRANSACTION_TIMEOUT_MS,
    createPartitioner: partitionByKey,
  });

export async function withAdmin<Result>(
  kafka: Kafka,
  work: (admin: Admin) => Promise<Result>,
): Promise<Result> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    return await work(admin);
  } catch (error) {
    throw failureOf(error);
  } finally {
    await admin.disconnect();
  }
}

/** Ends what waits for a broker as soon as the signal aborts; what it was waiting for goes on unheeded. */
export async function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(new KafkaFailure('kafka/fenced', 'the relay ends'));
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  aborted.catch(() => undefined);
  work.catch(() => undefined);
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
