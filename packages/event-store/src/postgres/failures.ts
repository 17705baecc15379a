/**
 * What a failed query says about its outcome. https://www.postgresql.org/docs/18/errcodes-appendix.html
 */
import pg from 'pg';
import { InvalidAppendError, StoreRefusedError, StoreUnreachableError } from '../errors.ts';

/**
 * The statement failed and was rolled back; the connection lives. Class 08 (connection), class 57 (operator
 * intervention, a shutdown) and 25P04 (transaction timeout) do not guarantee that. The severity is in the server's
 * language, but the other classes are never fatal.
 */
export function isStatementError(error: unknown): error is pg.DatabaseError {
  if (!(error instanceof pg.DatabaseError)) return false;
  const code = error.code ?? '';
  return (
    /^(22|23|25006|40|42|54|55)/.test(code) || (error.severity === 'ERROR' && !/^(08|57|25P04)/.test(code))
  );
}

/** Class 22, data exception, and 54, program limit exceeded. */
export function isDataError(error: pg.DatabaseError): boolean {
  return /^(22|54)/.test(error.code ?? '');
}

/** 25006, read-only transaction: the server is a standby. */
export function isReadOnly(error: pg.DatabaseError): boolean {
  return error.code === '25006';
}

/** 42501, insufficient privilege. */
export function isRefused(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && error.code === '42501';
}

/** Class 22, data exception, and 42, syntax error or access rule violation: retrying will not help. */
export function isOwnMistake(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(22|42)/.test(error.code ?? '');
}

/** The answer to an append that the database refused alone: nothing was written. */
export function refusalOf(cause: pg.DatabaseError): Error {
  if (isRefused(cause)) {
    return new StoreRefusedError(`The user of DATABASE_URL may not append to the log: ${cause.message}.`, {
      cause,
    });
  }
  return isDataError(cause)
    ? new InvalidAppendError('The database refused the data of the append.', { cause })
    : new StoreUnreachableError('The database could not take the append; nothing was written.', { cause });
}
