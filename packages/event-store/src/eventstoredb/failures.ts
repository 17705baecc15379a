/** What an error of the client says about the outcome of a call. */

import { messageOf } from '@coffer/kernel';
import {
  AccessDeniedError,
  CancelledError,
  DeadlineExceededError,
  NotLeaderError,
  StreamNotFoundError,
  UnavailableError,
  UnknownError,
} from '@eventstore/db-client';
import { StoreRefusedError } from '../errors.ts';

export const ANOTHER_LEADS = 'The node does not lead any longer.';

/** Nothing arrived from the server in time; the connection may be dead without having noticed. */
export class SilenceError extends Error {
  override readonly name = 'SilenceError';
}

/** The answer to one append of a stream of appends, if it is not that the events are written. */
export class AnsweredError extends Error {
  override readonly name = 'AnsweredError';
  /** Of gRPC. */
  readonly code: number;
  /** The name of the detail's type, without its package. */
  readonly detail: string | undefined;

  constructor(stream: string, code: number, detail: string | undefined, message: string) {
    super(message || `The server did not append to ${stream}: ${detail ?? code}.`);
    this.code = code;
    this.detail = detail?.replace(/^.*\./, '');
  }
}

const isAnswered = (detail: string) => (error: unknown) =>
  error instanceof AnsweredError && error.detail === detail;

/** The connection has ended, with whatever was sent over it. */
export const isBroken = (error: unknown) =>
  !(error instanceof SilenceError) && !(error instanceof AnsweredError);

export const isNotLeader = (error: unknown) => error instanceof NotLeaderError;
export const isNotFound = (error: unknown) => error instanceof StreamNotFoundError;
export const isWrongRevision = isAnswered('WrongExpectedVersion');
export const isTooLarge = isAnswered('MaximumAppendSizeExceeded');
export const isDeleted = isAnswered('StreamDeleted');
/** The store gateway's answer when the log below it was put back. `DATA_LOSS` is 15. */
export const isPutBack = (error: unknown) => error instanceof AnsweredError && error.code === 15;
const isDenied = isAnswered('AccessDenied');
/** The server answered with a failure that the client does not know. */
export const isUnknownFailure = (error: unknown) => error instanceof UnknownError;

/** There was no connection when the request should have gone out: it has not left this process. */
export const isNeverSent = (error: unknown) =>
  error instanceof UnavailableError && /No connection established|Name resolution failed/.test(error.message);

/** Whether the connection is unusable, so that the next call gets a new one. */
export const spoilsClient = (error: unknown) =>
  error instanceof SilenceError || error instanceof DeadlineExceededError;

/** Whether the node may be gone, so that it is worth looking for the leader. */
export const isDoubtful = (error: unknown) =>
  spoilsClient(error) || error instanceof UnavailableError || error instanceof CancelledError;

/** The leader's address, if the node gives it. */
export const leaderNamedBy = (error: unknown) => (error instanceof NotLeaderError ? error.leader : undefined);

/** The operation that the user of the connection string attempts. */
export type Wanted = { readonly read: string } | { readonly append: string };

/**
 * The server's refusal of this user, with the missing right and how to grant it; undefined for any other failure.
 * `PERMISSION_DENIED` is 7, `UNAUTHENTICATED` 16.
 */
export function refusalOf(error: unknown, wanted: Wanted): StoreRefusedError | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code !== 7 && code !== 16 && !(error instanceof AccessDeniedError) && !isDenied(error))
    return undefined;
  const told = `The log refuses its user (${messageOf(error)}):`;
  return new StoreRefusedError(code === 16 ? `${told} ${UNKNOWN_USER}` : `${told} ${missingRight(wanted)}`, {
    cause: error,
  });
}

const UNKNOWN_USER =
  'no user has this name and password. EVENTSTORE_URL gives both; without TLS no password is sent.';

function missingRight(wanted: Wanted): string {
  if ('append' in wanted)
    return `it may not write to ${wanted.append}; $w in the $acl of a stream lists who may.`;
  if (wanted.read !== ALL) return `it may not read ${wanted.read}; $r in the $acl of a stream lists who may.`;
  return 'it may not read $all; the metadata of the stream $all must list it in $acl, $r ("coffer log grant").';
}

export const ALL = '$all';

/** A failure, with advice. */
export function explained(error: unknown): string {
  const message = messageOf(error);
  if (!/certificate|self.signed|altnames/i.test(message)) return message;
  return `${message} The certificate is not from an authority trusted here: set tlsCAFile in EVENTSTORE_URL.`;
}
