/** What goes wrong with Kafka, by name. Addresses may be in a message, but never a password. */
import { messageOf } from '@coffer/kernel';

const FAILURES = {
  'kafka/unreachable': 'No Kafka broker answers. KAFKA_BROKERS says where they are.',
  'kafka/authentication_failed':
    'Kafka does not accept the user and the password. They are in KAFKA_BROKERS or in COFFER_KAFKA_USER and COFFER_KAFKA_PASSWORD.',
  'kafka/not_authorized':
    'Kafka does not allow this user to do what the relay needs; docs/kafka.md lists the rights.',
  'kafka/topic_missing':
    'A topic does not exist and may not be created (COFFER_KAFKA_CREATE_TOPICS); docs/kafka.md says how to create it.',
  'kafka/places_not_compacted':
    'The topic that holds how far the relay is must have cleanup.policy=compact and nothing else, or its place would be lost.',
  'kafka/places_partitioned':
    'The topic that holds how far the relay is must have one partition, or the relay would begin at an older place. Delete it and create it with one, or set another COFFER_KAFKA_TOPIC_PREFIX; docs/kafka.md says which.',
  'kafka/events_pruned':
    'Events of webhooks were no longer kept when the relay came to them: it was switched off, or COFFER_WEBHOOK_RETENTION_DAYS was at work where KAFKA_BROKERS is not set. They are not in the topic, as previousSequence shows.',
  'kafka/message_too_large':
    'A message is larger than its topic takes. Raise max.message.bytes of the topic, then restart the relay.',
  'kafka/storage_failed': 'A Kafka broker cannot write to its disk.',
  'kafka/fenced': 'Another relay has taken over.',
  'kafka/loading': 'A Kafka broker has not loaded what it knows of groups and transactions yet.',
  'kafka/failed': 'Kafka has refused a request.',
} as const;
export type FailureCode = keyof typeof FAILURES;

export class KafkaFailure extends Error {
  override readonly name = 'KafkaFailure';
  readonly code: FailureCode;

  constructor(code: FailureCode, detail: string, cause?: unknown) {
    super(`${code}: ${FAILURES[code]} (${detail})`, { cause });
    this.code = code;
  }
}

/** By the name that the protocol has for an error, or the client's class for it. */
const CODES: readonly (readonly [pattern: RegExp, code: FailureCode])[] = [
  [/SASL/, 'kafka/authentication_failed'],
  [/AUTHORIZATION_FAILED/, 'kafka/not_authorized'],
  [/MESSAGE_TOO_LARGE|RECORD_LIST_TOO_LARGE/, 'kafka/message_too_large'],
  [/INVALID_PRODUCER_EPOCH|PRODUCER_FENCED|INVALID_PRODUCER_ID_MAPPING/, 'kafka/fenced'],
  [/UNKNOWN_TOPIC_OR_PARTITION|TopicMetadataNotLoaded|KafkaJSMetadataNotLoaded/, 'kafka/topic_missing'],
  [/KAFKA_STORAGE_ERROR|LOG_DIR/, 'kafka/storage_failed'],
  [/LOAD_IN_PROGRESS/, 'kafka/loading'],
  [/Connection|RequestTimeout|BrokerNotFound|NOT_AVAILABLE|Closed/, 'kafka/unreachable'],
];

/** What a client's error means. */
export function failureOf(error: unknown): KafkaFailure {
  if (error instanceof KafkaFailure) return error;
  const names = causes(error)
    .map((one) => `${nameOf(one)} ${typeOf(one)}`)
    .join(' ');
  const found = CODES.find(([pattern]) => pattern.test(names));
  return new KafkaFailure(found?.[1] ?? 'kafka/failed', messageOf(error), error);
}

/** The error, what caused it, and what it holds: a client gathers the refusals of several topics in one. */
function causes(error: unknown, depth = 0): readonly unknown[] {
  if (!(error instanceof Error) || depth > 4) return [];
  const held: readonly unknown[] = 'errors' in error && Array.isArray(error.errors) ? error.errors : [];
  return [error, ...[error.cause, ...held].flatMap((one) => causes(one, depth + 1))];
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '');
const typeOf = (error: unknown): string =>
  error instanceof Error && 'type' in error && typeof error.type === 'string' ? error.type : '';
