import type { ExpectedRevision } from './port.ts';

/** The stream is not at the expected revision, and this is not a retry. Nothing written. */
export class WrongExpectedRevisionError extends Error {
  override readonly name = 'WrongExpectedRevisionError';
  readonly stream: string;
  readonly expected: ExpectedRevision;
  /** The revision of the last event; undefined when the stream does not exist. */
  readonly actual: number | undefined;

  constructor(stream: string, expected: ExpectedRevision, actual: number | undefined) {
    super(`Stream ${stream} is at ${actual ?? 'no event'}, not at ${expected}.`);
    this.stream = stream;
    this.expected = expected;
    this.actual = actual;
  }
}

/** The connection failed after the request was sent: the append may or may not be durable. Retry the same request. */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';
}

/** The store cannot be reached, and nothing was written. */
export class StoreUnreachableError extends Error {
  override readonly name: string = 'StoreUnreachableError';
}

/** The store is known to be unreachable: asking again is pointless until something changes. */
export class StoreAbsentError extends StoreUnreachableError {
  override readonly name = 'StoreAbsentError';
}

/** The store answers but refuses its user; the message says which right is missing and who grants it. Nothing was written. */
export class StoreRefusedError extends StoreUnreachableError {
  override readonly name = 'StoreRefusedError';
}

/** The queue is full; nothing was written. Try again a little later. */
export class StoreOverloadedError extends Error {
  override readonly name = 'StoreOverloadedError';
}

/** The append is larger than `MAX_APPEND_BYTES`. Nothing written. */
export class EventTooLargeError extends Error {
  override readonly name = 'EventTooLargeError';
  readonly bytes: number;
  constructor(stream: string, bytes: number, maximum: number) {
    super(`The append to ${stream} has ${bytes} bytes; at most ${maximum} fit.`);
    this.bytes = bytes;
  }
}

/** The log no longer holds what was read from it: a restore or a fail-over replaced it with an older one. */
export class LogRewrittenError extends Error {
  override readonly name = 'LogRewrittenError';
  readonly code = 'store/log_rewritten';
}

/** The request itself is invalid: a mistake of the calling code. */
export class InvalidAppendError extends Error {
  override readonly name = 'InvalidAppendError';
}
