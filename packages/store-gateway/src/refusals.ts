/**
 * Refusals in the two forms that clients know: a status with trailers that ends a call, and a status with a packed
 * detail that answers one append of a batch stream.
 */

import {
  EventTooLargeError,
  type ExpectedRevision,
  InvalidAppendError,
  LogRewrittenError,
  MAX_APPEND_BYTES,
  OutcomeUnknownError,
  StoreOverloadedError,
  StoreUnreachableError,
  type WrongExpectedRevisionError,
} from '@coffer/event-store';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import grpcStatus from '@eventstore/db-client/generated/status_pb.js';
import { Metadata, type ServerErrorResponse, status } from '@grpc/grpc-js';
import any from 'google-protobuf/google/protobuf/any_pb.js';
import empty from 'google-protobuf/google/protobuf/empty_pb.js';

export type RefusalKind =
  | 'accessDenied'
  | 'badRequest'
  | 'beyondEnd'
  | 'logRewritten'
  | 'maximumAppendSize'
  | 'missingMetadata'
  | 'timeout'
  | 'tooMuchAtOnce'
  | 'unauthenticated'
  | 'unavailable'
  | 'unexpected';

/** Messages travel in headers, which clients limit, and may repeat what a client wrote. */
const MAX_MESSAGE_LENGTH = 1_000;

/** The client's call cannot be served; the client sees the message. */
export class RefusalError extends Error {
  override readonly name = 'RefusalError';
  readonly kind: RefusalKind;
  constructor(kind: RefusalKind, message: string) {
    super(message.slice(0, MAX_MESSAGE_LENGTH).toWellFormed());
    this.kind = kind;
  }
}

interface Form {
  readonly code: status;
  /** The code in the answer to one append of a batch stream, if it differs. */
  readonly batchCode?: status;
  /** The name in the trailer `exception`, if clients have a class for it. */
  readonly exception?: string;
  /** What else clients read from the trailers. */
  readonly trailers?: Readonly<Record<string, string>>;
  /** The packed detail, and the name of its type. */
  readonly detail: (message: string) => readonly [name: string, bytes: Uint8Array];
}

/** Without a detail, clients fail to read the answer; if they have no class for it, they show the message. */
const noDetail = () => ['google.protobuf.Empty', new empty.Empty().serializeBinary()] as const;
const badRequestDetail = (message: string) =>
  ['event_store.client.BadRequest', new shared.BadRequest().setMessage(message).serializeBinary()] as const;
const accessDeniedDetail = () =>
  ['event_store.client.AccessDenied', new shared.AccessDenied().serializeBinary()] as const;

const FORMS: Readonly<Record<RefusalKind, Form>> = {
  accessDenied: { code: status.PERMISSION_DENIED, exception: 'access-denied', detail: accessDeniedDetail },
  unauthenticated: { code: status.UNAUTHENTICATED, detail: accessDeniedDetail },
  badRequest: { code: status.INVALID_ARGUMENT, detail: badRequestDetail },
  beyondEnd: { code: status.OUT_OF_RANGE, detail: noDetail },
  logRewritten: { code: status.DATA_LOSS, detail: noDetail },
  maximumAppendSize: {
    code: status.INVALID_ARGUMENT,
    exception: 'maximum-append-size-exceeded',
    trailers: { 'maximum-append-size': `${MAX_APPEND_BYTES}` },
    detail: () => [
      'event_store.client.MaximumAppendSizeExceeded',
      new shared.MaximumAppendSizeExceeded().setMaxappendsize(MAX_APPEND_BYTES).serializeBinary(),
    ],
  },
  missingMetadata: {
    code: status.INVALID_ARGUMENT,
    exception: 'missing-required-metadata-property',
    trailers: { 'required-metadata-properties': 'type,content-type' },
    detail: badRequestDetail,
  },
  timeout: {
    code: status.ABORTED,
    batchCode: status.DEADLINE_EXCEEDED,
    detail: () => ['event_store.client.Timeout', new shared.Timeout().serializeBinary()],
  },
  tooMuchAtOnce: { code: status.RESOURCE_EXHAUSTED, detail: noDetail },
  unavailable: { code: status.UNAVAILABLE, detail: noDetail },
  unexpected: { code: status.UNKNOWN, batchCode: status.INTERNAL, detail: noDetail },
};

/** The refusal for a known error of the store; undefined for any other. */
function refusalOf(error: unknown): RefusalError | undefined {
  if (error instanceof RefusalError) return error;
  if (error instanceof EventTooLargeError) return new RefusalError('maximumAppendSize', error.message);
  if (error instanceof InvalidAppendError) return new RefusalError('badRequest', error.message);
  // After a time-out, too, the outcome of an append is unknown, and that is the term clients have for it.
  if (error instanceof OutcomeUnknownError) return new RefusalError('timeout', error.message);
  if (error instanceof StoreOverloadedError || error instanceof StoreUnreachableError) {
    return new RefusalError('unavailable', error.message);
  }
  if (error instanceof LogRewrittenError) return new RefusalError('logRewritten', error.message);
  return undefined;
}

export interface GatewayLogger {
  warn(fields: object, message: string): void;
}

/** The refusal for any error; unknown errors are logged, and clients learn only that there was one. */
export function toRefusal(error: unknown, logger: GatewayLogger | undefined): RefusalError {
  const refusal = refusalOf(error);
  if (refusal) return refusal;
  logger?.warn({ err: error }, 'the store gateway failed in an unexpected way');
  return new RefusalError('unexpected', 'The store gateway failed; its log says why.');
}

/** What ends a call. */
export function callError({ kind, message }: RefusalError): ServerErrorResponse & { readonly code: status } {
  const { code, exception, trailers = {} } = FORMS[kind];
  const metadata = new Metadata();
  if (exception !== undefined) metadata.set('exception', exception);
  for (const [name, value] of Object.entries(trailers)) metadata.set(name, value);
  return Object.assign(new Error(message), { code, details: message, metadata });
}

/** What answers one append of a batch stream. */
export function batchStatus({ kind, message }: RefusalError) {
  const { code, batchCode = code, detail } = FORMS[kind];
  const [name, bytes] = detail(message);
  return statusOf(batchCode, message, name, bytes);
}

/** The answer to an append of a batch stream that was not at the expected revision. */
export function wrongVersionStatus({ message, expected, actual }: WrongExpectedRevisionError) {
  const wrong = new shared.WrongExpectedVersion();
  if (actual === undefined) wrong.setCurrentNoStream(new empty.Empty());
  else wrong.setCurrentStreamRevision(`${actual}`);
  setExpected(expected, {
    revision: (text) => wrong.setExpectedStreamPosition(text),
    noStream: () => wrong.setExpectedNoStream(new empty.Empty()),
    streamExists: () => wrong.setExpectedStreamExists(new empty.Empty()),
    any: () => wrong.setExpectedAny(new empty.Empty()),
  });
  const name = 'event_store.client.WrongExpectedVersion';
  return statusOf(status.ALREADY_EXISTS, message, name, wrong.serializeBinary());
}

/** Messages state what was expected in one of four fields. */
export function setExpected(
  expected: ExpectedRevision,
  set: {
    readonly revision: (text: string) => void;
    readonly noStream: () => void;
    readonly streamExists: () => void;
    readonly any: () => void;
  },
): void {
  if (typeof expected === 'number') set.revision(`${expected}`);
  else set[expected]();
}

function statusOf(code: number, message: string, detailName: string, detail: Uint8Array) {
  const packed = new any.Any();
  packed.pack(detail, detailName);
  // The codes of google.rpc are those of gRPC.
  return new grpcStatus.Status().setCode(code).setMessage(message).setDetails(packed);
}
