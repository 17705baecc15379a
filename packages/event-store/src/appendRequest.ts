/** What every adapter checks before it takes an append. */
import { EventTooLargeError, InvalidAppendError } from './errors.ts';
import { type AppendRequest, MAX_APPEND_BYTES } from './port.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const TEXT = 'a text of at least one character, without NUL and lone surrogates';
const WORDS: readonly unknown[] = ['noStream', 'streamExists', 'any'];

/** The size of the append in bytes. Throws `InvalidAppendError`, `EventTooLargeError`. */
export function checkAppend(request: AppendRequest): number {
  const { stream, expectedRevision, expectedLastEventId, events } = request;
  if (!isText(stream)) throw new InvalidAppendError(`A stream name is ${TEXT}.`);
  if (!WORDS.includes(expectedRevision) && !isRevision(expectedRevision)) {
    throw new InvalidAppendError(`${expectedRevision} is no expected revision.`);
  }
  if (expectedLastEventId !== undefined) {
    if (typeof expectedRevision !== 'number') {
      throw new InvalidAppendError(`With ${expectedRevision} there is no revision to have an event id.`);
    }
    if (!UUID.test(expectedLastEventId)) throw new InvalidAppendError(`${expectedLastEventId} is no UUID.`);
  }
  if (events.length === 0) throw new InvalidAppendError('An append has at least one event.');
  let bytes = 0;
  for (const { id, type, data, metadata } of events) {
    if (!UUID.test(id)) throw new InvalidAppendError(`${id} is no UUID.`);
    if (!isText(type)) throw new InvalidAppendError(`An event type is ${TEXT}.`);
    if (!isText(data) || !isText(metadata)) {
      throw new InvalidAppendError(`The data and metadata of an event are JSON, which is ${TEXT}.`);
    }
    bytes += id.length + Buffer.byteLength(type) + Buffer.byteLength(data) + Buffer.byteLength(metadata);
  }
  if (bytes > MAX_APPEND_BYTES) throw new EventTooLargeError(stream, bytes, MAX_APPEND_BYTES);
  return bytes;
}

/** What every backend can give back as it was: UTF-8 has no lone surrogates, and Postgres keeps no NUL. */
function isText(text: string): boolean {
  return text.length > 0 && text.isWellFormed() && !text.includes('\0');
}

function isRevision(expected: unknown): boolean {
  return typeof expected === 'number' && Number.isSafeInteger(expected) && expected >= 0;
}
