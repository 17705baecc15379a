/** The checks that every adapter makes before it accepts an append. */
import { EventTooLargeError, InvalidAppendError } from './errors.ts';
import { type AppendRequest, MAX_APPEND_BYTES } from './port.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const TEXT = 'a text of at least one character, without NUL or lone surrogates';
const WORDS: readonly unknown[] = ['noStream', 'streamExists', 'any'];

/** The size of the append in bytes. Throws `InvalidAppendError`, `EventTooLargeError`. */
export function checkAppend(request: AppendRequest): number {
  const { stream, expectedRevision, expectedLastEventId, events } = request;
  if (bytesOf(stream) === 0) throw new InvalidAppendError(`A stream name must be ${TEXT}.`);
  if (!WORDS.includes(expectedRevision) && !isRevision(expectedRevision)) {
    throw new InvalidAppendError(`${expectedRevision} is not an expected revision.`);
  }
  if (expectedLastEventId !== undefined) {
    if (typeof expectedRevision !== 'number') {
      throw new InvalidAppendError(
        `An event id needs a numbered expected revision, not ${expectedRevision}.`,
      );
    }
    if (!UUID.test(expectedLastEventId))
      throw new InvalidAppendError(`${expectedLastEventId} is not a UUID.`);
  }
  if (events.length === 0) throw new InvalidAppendError('An append needs at least one event.');
  let bytes = 0;
  // Events of one request have the same.
  let lastMetadata = '';
  let metadataBytes = 0;
  for (const { id, type, data, metadata } of events) {
    if (!UUID.test(id)) throw new InvalidAppendError(`${id} is not a UUID.`);
    const typeBytes = bytesOf(type);
    if (typeBytes === 0) throw new InvalidAppendError(`An event type must be ${TEXT}.`);
    const dataBytes = bytesOf(data);
    if (metadata !== lastMetadata) [lastMetadata, metadataBytes] = [metadata, bytesOf(metadata)];
    if (dataBytes === 0 || metadataBytes === 0) {
      throw new InvalidAppendError(`The data and metadata of an event must be JSON: ${TEXT}.`);
    }
    bytes += id.length + typeBytes + dataBytes + metadataBytes;
  }
  if (bytes > MAX_APPEND_BYTES) throw new EventTooLargeError(stream, bytes, MAX_APPEND_BYTES);
  return bytes;
}

/** In UTF-8; 0 unless every backend returns it unchanged: UTF-8 has no lone surrogates, and Postgres stores no NUL. */
function bytesOf(text: string): number {
  const bytes = Buffer.byteLength(text);
  // What has one byte for each character has no surrogates.
  return (bytes === text.length || text.isWellFormed()) && !text.includes('\0') ? bytes : 0;
}

function isRevision(expected: unknown): boolean {
  return typeof expected === 'number' && Number.isSafeInteger(expected) && expected >= 0;
}
