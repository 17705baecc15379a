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

export const ANOTHER_LEADS = 'The node that was asked does not lead any more.';

/** Nothing came from the server in time; the connection may be dead without knowing it. */
export class SilenceError extends Error {
  override readonly name = 'SilenceError';
}

export const isNotLeader = (error: unknown) => error instanceof NotLeaderError;
export const isNotFound = (error: unknown) => error instanceof StreamNotFoundError;
export const isWrongRevision = (error: unknown) => error instanceof WrongExpectedVersionError;
export const isTooLarge = (error: unknown) => error instanceof MaxAppendSizeExceededError;
export const isAccessDenied = (error: unknown) => error instanceof AccessDeniedError;
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

export const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
