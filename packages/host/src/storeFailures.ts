/** What failures of the store and the database mean to a caller. Source: contract, Common rules. */
import {
  EventTooLargeError,
  OutcomeUnknownError,
  StoreOverloadedError,
  StoreUnreachableError,
} from '@coffer/event-store';
import type { KnownFailure } from '@coffer/http';
import { UnknownEventError } from '@coffer/kernel';

/**
 * Connection failures of node, including its resolver, and of Postgres:
 * https://www.postgresql.org/docs/18/errcodes-appendix.html classes 08 (connection exception), 53 (insufficient
 * resources) and 57P (operator intervention); refusals of a new connection: 28 (authorization), 3D000 (no such
 * database), 55000 (it accepts no connections); and 25006: a server that has become a standby accepts no writes.
 */
const AWAY =
  /^(E(AGAIN|AI_AGAIN|CONNABORTED|CONNREFUSED|CONNRESET|HOSTDOWN|HOSTUNREACH|NETDOWN|NETUNREACH|NOTFOUND|PIPE|TIMEDOUT)|ENOENT|08...|25006|28...|3D000|53...|55000|57P..)$/;

export function storeFailureOf(error: unknown): KnownFailure | undefined {
  if (error instanceof OutcomeUnknownError) return { code: 'service/outcome_unknown' };
  if (error instanceof StoreOverloadedError) return { code: 'service/overloaded' };
  if (error instanceof StoreUnreachableError) return { code: 'service/unavailable' };
  if (error instanceof UnknownEventError) return { code: 'service/unavailable' };
  if (error instanceof EventTooLargeError) return { code: 'request/too_large' };
  return isDatabaseAway(error) ? { code: 'service/unavailable' } : undefined;
}

export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('code' in error && typeof error.code === 'string') return AWAY.test(error.code);
  // The driver's own messages, which carry no code.
  return /^(Connection terminated|timeout exceeded when trying to connect|Client (has encountered a connection error|was closed)|Query read timeout)/.test(
    error.message,
  );
}
