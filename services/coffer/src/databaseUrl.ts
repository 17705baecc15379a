/** Where the database is that the service works with. */
import { resolve } from 'node:path';
import { findEmbeddedPostgres } from '@coffer/embedded-postgres';
import type { Variables } from './cli/connection.ts';
import { noService } from './cli/failure.ts';
import { startFailure } from './startFailure.ts';

/** The name of the database in the embedded server. */
export const EMBEDDED_DATABASE = 'coffer';

/** Throws a `CommandFailure` when there is none to reach. */
export async function databaseUrlFrom(variables: Variables, workingFolder: string): Promise<string> {
  // A variable that is set to nothing is one that is not set.
  if (variables.DATABASE_URL) return variables.DATABASE_URL;
  const dataFolder = resolve(workingFolder, variables.COFFER_DATA_DIR || '.data');
  const connectionString = await findEmbeddedPostgres(dataFolder).catch((error: unknown) => {
    throw startFailure(error) ?? error;
  });
  if (connectionString) return connectionString(EMBEDDED_DATABASE);
  throw noService(`No database runs in ${dataFolder}. Start one with "npm start", or set COFFER_DATA_DIR.`);
}
