import type { ExpectedRevision } from './port.ts';

/** The stream is not at the revision expected, and the events are not those of a retry. Nothing written. */
export class WrongExpectedRevisionError extends Error {
  override readonly name = 'WrongExpectedRevisionError';
  readonly stream: string;
  readonly expected: ExpectedRevision;
  /** The revision of the last event, undefined when there is no such stream. */
  readonly actual: number | undefined;

  constructor(stream: string, expected: ExpectedRevision, actual: number | undefined) {
    super(`Stream ${stream} is at ${actual ?? 'no event'}, not at ${expected}.`);
    this.stream = stream;
    this.expected = expected;
    this.actual = actual;
  }
}

/** The connection failed after the request was sent: it may or may not be durable. Retry the same request. */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';
}

/** The store cannot be reached, and nothing was written. */
export class StoreUnreachableError extends Error {
  override readonly name: string = 'StoreUnreachableError';
}

/** It is known that the store cannot be reached: to ask again before something has changed is of no use. */
export class StoreAbsentError extends StoreUnreachableError {
  override readonly name = 'StoreAbsentError';
}

/** The store answers and refuses its user; the message says what is missing, and who gives it. Nothing was written. */
export class StoreRefusedError extends StoreUnreachableError {
  override readonly name = 'StoreRefusedError';
}

/** The queue is full; nothing was written. Try again a little later. */
export class StoreOverloadedError extends Error {
  override readonly name = 'StoreOverloadedError';
}

/** One append is larger than `MAX_APPEND_BYTES`. Nothing written. */
export class EventTooLargeError extends Error {
  override readonly name = 'EventTooLargeError';
  readonly bytes: number;
  constructor(stream: string, bytes: number, maximum: number) {
    super(`The append to ${stream} has ${bytes} bytes; at most ${maximum} fit.`);
    this.bytes = bytes;
  }
}

/** The log no longer holds what was read from it: a restore or a fail-over put an older one in its place. */
export class LogRewrittenError extends Error {
  override readonly name = 'LogRewrittenError';
  readonly code = 'store/log_rewritten';
}

/** The request itself is not one that a store can take: a mistake of the calling code. */
export class InvalidAppendError extends Error {
  override readonly name = 'InvalidAppendError';
}
