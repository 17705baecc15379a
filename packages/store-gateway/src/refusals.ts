/**
 * What is refused, in the two forms in which clients know it: a status with trailers that ends a call, and a
 * status with a packed detail that answers one append of a batch stream.
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
  | 'timeout'
  | 'tooMuchAtOnce'
  | 'unauthenticated'
  | 'unavailable'
  | 'unexpected';

/** The client's call cannot be served; the message is for its eyes. */
export class RefusalError extends Error {
  override readonly name = 'RefusalError';
  readonly kind: RefusalKind;
  constructor(kind: RefusalKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

interface Form {
  readonly code: status;
  /** The name in the trailer `exception`, where clients have a class of their own for it. */
  readonly exception?: string;
  /** The packed detail, and the name of its type. */
  readonly detail: () => readonly [name: string, bytes: Uint8Array];
}

/** A detail that clients of this protocol have no class for; without any detail they fail to read the answer. */
const noDetail = () => ['google.protobuf.Empty', new empty.Empty().serializeBinary()] as const;
const unknownDetail = () => ['event_store.client.Unknown', new shared.Unknown().serializeBinary()] as const;
const accessDeniedDetail = () =>
  ['event_store.client.AccessDenied', new shared.AccessDenied().serializeBinary()] as const;

const FORMS: Readonly<Record<RefusalKind, Form>> = {
  accessDenied: { code: status.PERMISSION_DENIED, exception: 'access-denied', detail: accessDeniedDetail },
  unauthenticated: { code: status.UNAUTHENTICATED, detail: accessDeniedDetail },
  badRequest: { code: status.INVALID_ARGUMENT, detail: unknownDetail },
  beyondEnd: { code: status.OUT_OF_RANGE, detail: unknownDetail },
  logRewritten: { code: status.DATA_LOSS, detail: unknownDetail },
  maximumAppendSize: {
    code: status.INVALID_ARGUMENT,
    exception: 'maximum-append-size-exceeded',
    detail: () => [
      'event_store.client.MaximumAppendSizeExceeded',
      new shared.MaximumAppendSizeExceeded().setMaxappendsize(MAX_APPEND_BYTES).serializeBinary(),
    ],
  },
  timeout: {
    code: status.ABORTED,
    detail: () => ['event_store.client.Timeout', new shared.Timeout().serializeBinary()],
  },
  tooMuchAtOnce: { code: status.RESOURCE_EXHAUSTED, detail: noDetail },
  unavailable: { code: status.UNAVAILABLE, detail: noDetail },
  unexpected: { code: status.UNKNOWN, detail: unknownDetail },
};

/** The refusal that an error of the store comes to; undefined for one that nobody expects. */
function refusalOf(error: unknown): RefusalError | undefined {
  if (error instanceof RefusalError) return error;
  if (error instanceof EventTooLargeError) return new RefusalError('maximumAppendSize', error.message);
  if (error instanceof InvalidAppendError) return new RefusalError('badRequest', error.message);
  // The outcome of an append is as unknown after a time-out, which is the word that clients have for it.
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

/** The refusal for any error; one that nobody expects is logged, and clients are told no more than that. */
export function toRefusal(error: unknown, logger: GatewayLogger | undefined): RefusalError {
  const refusal = refusalOf(error);
  if (refusal) return refusal;
  logger?.warn({ err: error }, 'the store gateway failed in an unexpected way');
  return new RefusalError('unexpected', 'The store gateway failed; its log says why.');
}

/** What ends a call. */
export function callError({ kind, message }: RefusalError): ServerErrorResponse & { readonly code: status } {
  const { code, exception } = FORMS[kind];
  const metadata = new Metadata();
  if (exception !== undefined) metadata.set('exception', exception);
  if (kind === 'maximumAppendSize') metadata.set('maximum-append-size', `${MAX_APPEND_BYTES}`);
  return Object.assign(new Error(message), { code, details: message, metadata });
}

/** What answers one append of a batch stream. */
export function batchStatus({ kind, message }: RefusalError) {
  const { code, detail } = FORMS[kind];
  const [name, bytes] = detail();
  return statusOf(code, message, name, bytes);
}

/** What answers an append of a batch stream whose stream was not where it was expected. */
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

/** Messages say in one of four fields what was expected. */
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
