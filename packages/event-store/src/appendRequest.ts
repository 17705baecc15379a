/** The checks that every adapter makes before it accepts an append. */
import { EventTooLargeError, InvalidAppendError } from './errors.ts';
import { type AppendRequest, MAX_APPEND_BYTES } from './port.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const TEXT = 'a text of at least one character, without NUL or lone surrogates';
const WORDS: readonly unknown[] = ['noStream', 'streamExists', 'any'];

/** The size of the append in bytes. Throws `InvalidAppendError`, `EventTooLargeError`. */
export function checkAppend(request: AppendRequest): number {
  const { stream, expectedRevision, expectedLastEventId, events } = request;
  if (!isText(stream)) throw new InvalidAppendError(`A stream name must be ${TEXT}.`);
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
  for (const { id, type, data, metadata } of events) {
    if (!UUID.test(id)) throw new InvalidAppendError(`${id} is not a UUID.`);
    if (!isText(type)) throw new InvalidAppendError(`An event type must be ${TEXT}.`);
    if (!isText(data) || !isText(metadata)) {
      throw new InvalidAppendError(`The data and metadata of an event must be JSON: ${TEXT}.`);
    }
    bytes += id.length + Buffer.byteLength(type) + Buffer.byteLength(data) + Buffer.byteLength(metadata);
  }
  if (bytes > MAX_APPEND_BYTES) throw new EventTooLargeError(stream, bytes, MAX_APPEND_BYTES);
  return bytes;
}

/** Text that every backend returns unchanged: UTF-8 has no lone surrogates, and Postgres stores no NUL. */
function isText(text: string): boolean {
  return text.length > 0 && text.isWellFormed() && !text.includes('\0');
}

function isRevision(expected: unknown): boolean {
  return typeof expected === 'number' && Number.isSafeInteger(expected) && expected >= 0;
}
