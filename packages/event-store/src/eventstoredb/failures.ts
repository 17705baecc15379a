/** What an error of the client says about what was done. */
import {
  AccessDeniedError,
  DeadlineExceededError,
  MaxAppendSizeExceededError,
  NotLeaderError,
  StreamDeletedError,
  StreamNotFoundError,
  UnavailableError,
  UnknownError,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
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

/** The client could not find a node of the cluster; it says so in words only. */
export const isDiscoveryFailure = (error: unknown) =>
  error instanceof Error && error.message.startsWith('Failed to discover');

/** No connection stood when the request was to be sent: nothing of it has left this process. */
export const isNeverSent = (error: unknown) =>
  isDiscoveryFailure(error) ||
  (error instanceof UnavailableError &&
    /No connection established|Name resolution failed/.test(error.message));

/** Whether the client object itself is of no use any more: the next call gets a new one. */
export const spoilsClient = (error: unknown) =>
  error instanceof SilenceError || error instanceof DeadlineExceededError || isDiscoveryFailure(error);

export const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
