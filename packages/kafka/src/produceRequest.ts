/**
 * Produce requests, written in one pass: https://kafka.apache.org/documentation/#messageformat. The client makes a dozen
 * buffers for each message, which was most of what the relay cost: docs/adr/0056-produce-requests-of-our-own.md.
 */
import { createRequire } from 'node:module';
import { crc32c } from './crc32c.ts';

/** As the client hands them over: ours, and the places that go with them. */
export interface RecordMessage {
  readonly key: string;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds since 1970. */
  readonly timestamp: string;
}

export interface ProduceRequest {
  readonly transactionalId: string;
  readonly acks: number;
  readonly timeout: number;
  /** Of 64 bits, as text. */
  readonly producerId: { readonly toString: () => string };
  readonly producerEpoch: number;
  readonly topicData: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number | string;
      readonly firstSequence: number;
      readonly messages: readonly RecordMessage[];
    }[];
  }[];
}

/** What the client takes for its own encoder. */
interface Encoded {
  readonly buf: Buffer;
  readonly buffer: Buffer;
}

/** The client's module of this request, by version. */
interface ClientRequest {
  protocol: (at: {
    readonly version: number;
  }) => (given: ProduceRequest) => { readonly request: { encode: () => Promise<Encoded> } };
}

let isInPlace = false;

/** Makes every producer of this process write its requests as below: in versions 3 to 7 they have the same body. */
export function encodeProduceRequests(): void {
  if (isInPlace) return;
  isInPlace = true;
  const ofClient: ClientRequest = createRequire(import.meta.url)(
    'kafkajs/src/protocol/requests/produce/index.js',
  );
  const { protocol } = ofClient;
  ofClient.protocol = (at) => (given) => {
    const made = protocol(at)(given);
    made.request.encode = async () => {
      const buffer = encodeProduceRequest(given);
      return { buf: buffer, buffer };
    };
    return made;
  };
}

const MAGIC = 2;
const IN_TRANSACTION = 1 << 4;
/** Where things are in a batch: before the checksum, what it covers, and the records. */
const [LENGTH_AT, CHECKSUM_AT, COVERED_AT, RECORDS_AT] = [8, 17, 21, 61];

export function encodeProduceRequest(request: ProduceRequest): Buffer {
  const { transactionalId, acks, timeout, producerId, producerEpoch, topicData } = request;
  const bytes = Buffer.allocUnsafe(mostBytesOf(request));
  const id = BigInt(producerId.toString());
  let at = writeText16(bytes, 0, transactionalId);
  at = bytes.writeInt16BE(acks, at);
  at = bytes.writeInt32BE(timeout, at);
  at = bytes.writeInt32BE(topicData.length, at);
  for (const { topic, partitions } of topicData) {
    at = writeText16(bytes, at, topic);
    at = bytes.writeInt32BE(partitions.length, at);
    for (const { partition, firstSequence, messages } of partitions) {
      at = bytes.writeInt32BE(Number(partition), at);
      const from = at + 4;
      const end = writeBatch(bytes, from, messages, { id, epoch: producerEpoch, firstSequence });
      bytes.writeInt32BE(end - from, at);
      at = end;
    }
  }
  return bytes.subarray(0, at);
}

function writeBatch(
  bytes: Buffer,
  from: number,
  messages: readonly RecordMessage[],
  producer: { readonly id: bigint; readonly epoch: number; readonly firstSequence: number },
): number {
  let [first, last] = [Number.MAX_SAFE_INTEGER, 0];
  for (const { timestamp } of messages) {
    first = Math.min(first, Number(timestamp));
    last = Math.max(last, Number(timestamp));
  }
  let end = from + RECORDS_AT;
  for (const [index, message] of messages.entries())
    end = writeRecord(bytes, end, message, index, Number(message.timestamp) - first);

  // The broker numbers the messages.
  let at = bytes.writeBigInt64BE(0n, from);
  at = bytes.writeInt32BE(end - from - LENGTH_AT - 4, at);
  at = bytes.writeInt32BE(0, at);
  bytes.writeInt8(MAGIC, at);
  at = bytes.writeInt16BE(IN_TRANSACTION, from + COVERED_AT);
  at = bytes.writeInt32BE(messages.length - 1, at);
  at = bytes.writeBigInt64BE(BigInt(first), at);
  at = bytes.writeBigInt64BE(BigInt(last), at);
  at = bytes.writeBigInt64BE(producer.id, at);
  at = bytes.writeInt16BE(producer.epoch, at);
  at = bytes.writeInt32BE(producer.firstSequence, at);
  bytes.writeInt32BE(messages.length, at);
  bytes.writeUInt32BE(crc32c(bytes.subarray(from + COVERED_AT, end)), from + CHECKSUM_AT);
  return end;
}

/** Most records have a length of two bytes. */
const USUAL_RECORD_BYTES = 1_000;

function writeRecord(
  bytes: Buffer,
  from: number,
  { key, value, headers }: RecordMessage,
  index: number,
  sinceFirstMs: number,
): number {
  const start = from + lengthOfVarint(USUAL_RECORD_BYTES);
  bytes[start] = 0;
  let at = writeVarint(bytes, start + 1, sinceFirstMs);
  at = writeVarint(bytes, at, index);
  at = writeText(bytes, at, key);
  at = writeVarint(bytes, at, value.length);
  at += value.copy(bytes, at);
  const names = Object.keys(headers);
  at = writeVarint(bytes, at, names.length);
  for (const name of names) {
    at = writeText(bytes, at, name);
    at = writeText(bytes, at, headers[name] ?? '');
  }
  return writeLengthBefore(bytes, from, start, at);
}

/** Its length in front. */
function writeText(bytes: Buffer, from: number, text: string): number {
  const start = from + lengthOfVarint(text.length);
  return writeLengthBefore(bytes, from, start, start + bytes.write(text, start));
}

/** The length of what was written from `start` to `end`, which moves if `start` leaves it too much room or too little. */
function writeLengthBefore(bytes: Buffer, from: number, start: number, end: number): number {
  const length = end - start;
  const to = from + lengthOfVarint(length);
  if (to !== start) bytes.copyWithin(to, start, end);
  writeVarint(bytes, from, length);
  return to + length;
}

function writeText16(bytes: Buffer, from: number, text: string): number {
  const length = bytes.write(text, from + 2);
  return bytes.writeInt16BE(length, from) + length;
}

/** Seven bits at a time. Of numbers with a sign, of which none here is negative: twice the number. */
function writeVarint(bytes: Buffer, from: number, value: number): number {
  let [at, rest] = [from, value * 2];
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes[at++] = (rest % 0x80) | 0x80;
  bytes[at++] = rest;
  return at;
}

function lengthOfVarint(value: number): number {
  let length = 1;
  for (let rest = value * 2; rest >= 0x80; rest = Math.floor(rest / 0x80)) length++;
  return length;
}

/** No character of a text takes more than three bytes. */
function mostBytesOf({ transactionalId, topicData }: ProduceRequest): number {
  let most = 32 + 3 * transactionalId.length;
  for (const { topic, partitions } of topicData) {
    most += 16 + 3 * topic.length;
    for (const { messages } of partitions) {
      most += 16 + RECORDS_AT;
      for (const { key, value, headers } of messages) {
        most += 64 + 3 * key.length + value.length;
        for (const name of Object.keys(headers))
          most += 16 + 3 * (name.length + (headers[name]?.length ?? 0));
      }
    }
  }
  return most;
}
