/** What every adapter checks before it takes an append. */
import { EventTooLargeError, InvalidAppendError } from './errors.ts';
import { type AppendRequest, MAX_APPEND_BYTES } from './port.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const WORDS: readonly unknown[] = ['noStream', 'streamExists', 'any'];

/** The size of the append in bytes. Throws `InvalidAppendError`, `EventTooLargeError`. */
export function checkAppend({ stream, expectedRevision, events }: AppendRequest): number {
  if (!isText(stream)) throw new InvalidAppendError('A stream name is a text without NUL.');
  if (!WORDS.includes(expectedRevision) && !isRevision(expectedRevision)) {
    throw new InvalidAppendError(`${expectedRevision} is no expected revision.`);
  }
  if (events.length === 0) throw new InvalidAppendError('An append has at least one event.');
  let bytes = 0;
  for (const { id, type, data, metadata } of events) {
    if (!UUID.test(id)) throw new InvalidAppendError(`${id} is no UUID.`);
    if (!isText(type)) throw new InvalidAppendError('An event type is a text without NUL.');
    if (data.includes('\0') || metadata.includes('\0')) {
      throw new InvalidAppendError('The data and metadata of an event are JSON texts, which have no NUL.');
    }
    bytes += id.length + Buffer.byteLength(type) + Buffer.byteLength(data) + Buffer.byteLength(metadata);
  }
  if (bytes > MAX_APPEND_BYTES) throw new EventTooLargeError(stream, bytes, MAX_APPEND_BYTES);
  return bytes;
}

function isText(text: string): boolean {
  return text.length > 0 && !text.includes('\0');
}

function isRevision(expected: unknown): boolean {
  return typeof expected === 'number' && Number.isSafeInteger(expected) && expected >= 0;
}
