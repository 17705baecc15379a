/** Explains in words why a start cannot work; stack traces are only for our own mistakes. */
import { IdentityKeyMismatchError } from '@coffer/auth';
import { NewerDatabaseError, UnsupportedPostgresError } from '@coffer/database';
import { EmbeddedChainError } from '@coffer/embedded-chain';
import { DataFolderInUseError, EmbeddedPostgresError } from '@coffer/embedded-postgres';
import { StoreRefusedError, StoreUnreachableError } from '@coffer/event-store';
import { isDatabaseAway } from '@coffer/host';
import { DamagedFileError } from '@coffer/portal';
import { MasterKeysMismatchError } from '@coffer/wallets';
import { CommandFailure, EXIT } from './cli/failure.ts';
import { ConfigurationError } from './config.ts';
import { PortUnusableError } from './portsAtStart.ts';
import { StoreGatewayStartError } from './storeGateway.ts';

/** Errors of files, of a quota, and of PostgreSQL. */
const DISK_FULL = /^(ENOSPC|EDQUOT|53100)$/;

/** Undefined if it is not a circumstance of the start but a mistake of ours. */
export function startFailure(error: unknown): CommandFailure | undefined {
  if (error instanceof ConfigurationError) return failure(EXIT.wrongUsage, error.message, error);
  if (error instanceof DataFolderInUseError || error instanceof EmbeddedPostgresError) {
    return failure(EXIT.refused, error.message, error);
  }
  if (error instanceof UnsupportedPostgresError || error instanceof NewerDatabaseError) {
    return failure(EXIT.refused, error.message, error);
  }
  if (error instanceof EmbeddedChainError) return failure(EXIT.refused, chainFailure(error), error);
  if (error instanceof MasterKeysMismatchError || error instanceof IdentityKeyMismatchError) {
    return failure(EXIT.refused, error.message, error);
  }
  if (error instanceof DamagedFileError) return failure(EXIT.refused, error.message, error);
  if (error instanceof PortUnusableError || error instanceof StoreGatewayStartError) {
    return failure(EXIT.refused, error.message, error);
  }
  if (!(error instanceof Error)) return undefined;
  if ('code' in error && error.code === 'EADDRINUSE') {
    const place = 'port' in error ? `The port ${error.port}` : 'The port';
    return failure(
      EXIT.refused,
      `${place} is taken. Set PORT, or the variable that names this port, to another port, or to 0 for any free one.`,
      error,
    );
  }
  if ('code' in error && DISK_FULL.test(String(error.code))) {
    return failure(EXIT.refused, `The disk is full: ${error.message}\nMake room and start again.`, error);
  }
  if (
    'code' in error &&
    'path' in error &&
    /^(EEXIST|ENOTDIR|EISDIR|EACCES|EPERM|EROFS)$/.test(String(error.code))
  ) {
    const message = `${error.path} cannot be used: ${error.message}\nStart it as the user whom it belongs to, or set COFFER_DATA_DIR to a folder that this user may write to.`;
    return failure(EXIT.refused, message, error);
  }
  if (error instanceof StoreRefusedError) {
    const message = `${error.message}\nWhat this user may and may not do: coffer log check`;
    return failure(EXIT.refused, message, error);
  }
  // A log in PostgreSQL is unreachable because its database is; the database's own failure says so.
  const { cause } = error;
  const absent = error instanceof StoreUnreachableError && isDatabaseAway(cause) ? cause : error;
  if (absent instanceof StoreUnreachableError) {
    const message = `The log cannot be reached: ${absent.message}\nCheck EVENTSTORE_URL, and that its server is running.`;
    return failure(EXIT.refused, message, error);
  }
  if (absent instanceof Error && isDatabaseAway(absent)) {
    const message = `The database cannot be reached: ${absent.message}\nCheck DATABASE_URL, and that its server is running.`;
    return failure(EXIT.refused, message, error);
  }
  return undefined;
}

function chainFailure({ takenPort, message }: EmbeddedChainError): string {
  if (takenPort === undefined) return message;
  return [
    `The port ${takenPort} is taken, and the embedded chain needs it.`,
    'Set COFFER_CHAIN_PORT to another port whose next port is free as well, or to 0 for any.',
  ].join('\n');
}

function failure(exitCode: number, message: string, cause: unknown): CommandFailure {
  return new CommandFailure(exitCode, message, { cause });
}
