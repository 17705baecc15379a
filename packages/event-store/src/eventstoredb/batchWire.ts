/**
 * One append of a `BatchAppend` call as bytes. The client's published definitions lack the deadline as a duration; a
 * point in time would compare its clock with the server's.
 */
import type { AppendRequest, ExpectedRevision } from '../port.ts';

/** The fields by their numbers in the protocol. */
const REQUEST = { correlationId: 1, options: 2, event: 3, isFinal: 4 } as const;
const OPTIONS = { stream: 1, revision: 2, noStream: 3, any: 4, streamExists: 5, deadline: 7 } as const;
const EVENT = { id: 1, metadata: 2, customMetadata: 3, data: 4 } as const;
const STREAM_NAME = 3;
const UUID_TEXT = 2;
const DURATION = { seconds: 1, nanos: 2 } as const;
const ENTRY = { key: 1, value: 2 } as const;

const VARINT = 0;
const BYTES = 2;
const NANOS_PER_MS = 1_000_000;

const CONTENT_TYPE = message(EVENT.metadata, [
  text(ENTRY.key, 'content-type'),
  text(ENTRY.value, 'application/json'),
]);

/** The whole append as one message. */
export function batchRequest(correlationId: string, request: AppendRequest, deadlineMs: number): Buffer {
  return Buffer.concat([
    message(REQUEST.correlationId, [text(UUID_TEXT, correlationId)]),
    message(REQUEST.options, [
      message(OPTIONS.stream, [text(STREAM_NAME, request.stream)]),
      expected(request.expectedRevision),
      message(OPTIONS.deadline, [
        number(DURATION.seconds, Math.floor(deadlineMs / 1_000)),
        number(DURATION.nanos, (deadlineMs % 1_000) * NANOS_PER_MS),
      ]),
    ]),
    ...request.events.map(({ id, type, data, metadata }) =>
      message(REQUEST.event, [
        message(EVENT.id, [text(UUID_TEXT, id.toLowerCase())]),
        message(EVENT.metadata, [text(ENTRY.key, 'type'), text(ENTRY.value, type)]),
        CONTENT_TYPE,
        text(EVENT.customMetadata, metadata),
        text(EVENT.data, data),
      ]),
    ),
    number(REQUEST.isFinal, 1),
  ]);
}

function expected(revision: ExpectedRevision): Buffer {
  return typeof revision === 'number' ? number(OPTIONS.revision, revision) : message(OPTIONS[revision], []);
}

function message(field: number, parts: readonly Buffer[]): Buffer {
  let length = 0;
  for (const part of parts) length += part.length;
  return Buffer.concat([varint(tag(field, BYTES)), varint(length), ...parts]);
}

function text(field: number, value: string): Buffer {
  return message(field, [Buffer.from(value)]);
}

function number(field: number, value: number): Buffer {
  return Buffer.concat([varint(tag(field, VARINT)), varint(value)]);
}

function tag(field: number, type: number): number {
  return field * 8 + type;
}

/** Without bit operations, which have 32 bits only. */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}
