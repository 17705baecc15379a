/** What the topics hold: facts as CloudEvents 1.0 in structured JSON, and the envelopes of webhooks as they are sent. */
import { decodeMetadata, parseStreamName } from '@coffer/kernel';
import { schemaIdOf } from './schemaId.ts';
import type { TopicNames } from './topics.ts';

export interface Message {
  readonly topic: string;
  /** What keeps its order. */
  readonly key: string;
  readonly value: Buffer;
  /** For filtering without parsing. */
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds since 1970, as Kafka wants it. */
  readonly timestamp: string;
}

/** Of an event of the log, what a message tells. */
interface LogEvent {
  readonly id: string;
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
  readonly recordedAt: Date;
}

const CLOUD_EVENT = 'application/cloudevents+json; charset=UTF-8';

/**
 * `ordinal` is the number of events of the log up to this one. The data is the stored text, in which amounts are texts.
 * Neither who acted nor the request is told: callers choose its id, so nothing can be promised of it.
 */
export function factMessage(
  { id, stream, revision, type, data, metadata, recordedAt }: LogEvent,
  ordinal: number,
  topics: Pick<TopicNames, 'facts'>,
): Message {
  const place = parseStreamName(stream);
  if (!place) throw new Error(`${stream} is not a name of one of our streams.`);
  const { category, environment, owner } = place;
  const { v: schemaVersion, occurredAt } = decodeMetadata(metadata);
  const ownerKind = owner.startsWith('app_') ? 'app' : 'scope';
  const fullType = `coffer.${category}.${type}`;
  const attributes = JSON.stringify({
    specversion: '1.0',
    id,
    source: `/coffer/${environment}/${owner}`,
    type: fullType,
    subject: stream,
    time: occurredAt,
    datacontenttype: 'application/json',
    dataschema: schemaIdOf(category, type, schemaVersion),
    environment,
    [ownerKind]: owner,
    revision,
    // A number of a CloudEvent has 32 bits, which a log may outgrow.
    ordinal: String(ordinal),
    schemaversion: schemaVersion,
  });
  return {
    topic: topics.facts(environment, category),
    key: stream,
    value: Buffer.from(`${attributes.slice(0, -1)},"data":${data}}`),
    headers: {
      'content-type': CLOUD_EVENT,
      type: fullType,
      [ownerKind]: owner,
      revision: String(revision),
      ordinal: String(ordinal),
    },
    timestamp: String(recordedAt.getTime()),
  };
}

/** An event as webhooks tell it. */
interface ToldEvent {
  readonly appId: string;
  readonly environment: 'test' | 'live';
  readonly sequence: number;
  readonly type: string;
  readonly createdAt: Date;
  /** The bytes that would be sent to a subscription to everything of the environment. */
  readonly bytes: Buffer;
}

export const toldMessage = (
  { appId, environment, sequence, type, createdAt, bytes }: ToldEvent,
  topics: Pick<TopicNames, 'events'>,
): Message => ({
  topic: topics.events(environment),
  key: appId,
  value: bytes,
  headers: { 'content-type': 'application/json', type, app: appId, sequence: String(sequence) },
  timestamp: String(createdAt.getTime()),
});

/** About what a message takes in a batch, on the safe side. */
export function sizeOf({ key, value, headers }: Pick<Message, 'key' | 'value' | 'headers'>): number {
  let size = 40 + key.length + value.length;
  for (const [name, text] of Object.entries(headers)) size += 10 + name.length + text.length;
  return size;
}
