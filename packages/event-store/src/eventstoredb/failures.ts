/** What an error of the client says about what was done. */
import {
  AccessDeniedError,
  CancelledError,
  DeadlineExceededError,
  MaxAppendSizeExceededError,
  NotLeaderError,
  StreamDeletedError,
  StreamNotFoundError,
  UnavailableError,
  UnknownError,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
import { StoreRefusedError } from '../errors.ts';

export const ANOTHER_LEADS = 'The node that was asked does not lead any more.';

/** Nothing came from the server in time; the connection may be dead without knowing it. */
export class SilenceError extends Error {
  override readonly name = 'SilenceError';
}

export const isNotLeader = (error: unknown) => error instanceof NotLeaderError;
export const isNotFound = (error: unknown) => error instanceof StreamNotFoundError;
export const isWrongRevision = (error: unknown) => error instanceof WrongExpectedVersionError;
export const isTooLarge = (error: unknown) => error instanceof MaxAppendSizeExceededError;
/** The server has answered, with a failure that the client has no word for. */
export const isUnknownFailure = (error: unknown) => error instanceof UnknownError;
export const isDeleted = (error: unknown) => error instanceof StreamDeletedError;

/** No connection stood when the request was to be sent: nothing of it has left this process. */
export const isNeverSent = (error: unknown) =>
  error instanceof UnavailableError && /No connection established|Name resolution failed/.test(error.message);

/** Whether the connection itself is of no use any more: the next call gets a new one. */
export const spoilsClient = (error: unknown) =>
  error instanceof SilenceError || error instanceof DeadlineExceededError;

/** Whether the node may be gone, so that it is worth asking who leads. */
export const isDoubtful = (error: unknown) =>
  spoilsClient(error) || error instanceof UnavailableError || error instanceof CancelledError;

/** Where the node says that the leader is. */
export const leaderNamedBy = (error: unknown) => (error instanceof NotLeaderError ? error.leader : undefined);

/** What the user of the connection string wants to do. */
export type Wanted = { readonly read: string } | { readonly append: string };

/**
 * What the server has refused this user, with what is missing and how it is given; undefined for any other failure.
 * `PERMISSION_DENIED` is 7, `UNAUTHENTICATED` 16.
 */
export function refusalOf(error: unknown, wanted: Wanted): StoreRefusedError | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code !== 7 && code !== 16 && !(error instanceof AccessDeniedError)) return undefined;
  const told = `The log refuses its user (${messageOf(error)}):`;
  return new StoreRefusedError(code === 16 ? `${told} ${UNKNOWN_USER}` : `${told} ${missingRight(wanted)}`, {
    cause: error,
  });
}

const UNKNOWN_USER =
  'there is no such user with this password. EVENTSTORE_URL names both; without TLS no password is sent.';

function missingRight(wanted: Wanted): string {
  if ('append' in wanted)
    return `it may not write to ${wanted.append}; $w in the $acl of a stream says who may.`;
  if (wanted.read !== ALL) return `it may not read ${wanted.read}; $r in the $acl of a stream says who may.`;
  return 'it may not read $all; the metadata of the stream $all has to name it in $acl, $r ("coffer log grant").';
}

export const ALL = '$all';

/** A failure in words that say what to do about it. */
export function explained(error: unknown): string {
  const message = messageOf(error);
  if (!/certificate|self.signed|altnames/i.test(message)) return message;
  return `${message} The certificate is none of an authority that is trusted here: tlsCAFile in EVENTSTORE_URL names it.`;
}

export const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
