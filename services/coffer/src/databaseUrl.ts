/** The address of the service's database. */
import { resolve } from 'node:path';
import { embeddedPostgresFolder, findEmbeddedPostgres } from '@coffer/embedded-postgres';
import type { Variables } from './cli/connection.ts';
import { CommandFailure, EXIT, noService } from './cli/failure.ts';
import { startFailure } from './startFailure.ts';

/** The name of the database in the embedded server. */
export const EMBEDDED_DATABASE = 'coffer';

/** Throws a `CommandFailure` if none can be reached. */
export async function databaseUrlFrom(variables: Variables, workingFolder: string): Promise<string> {
  // A variable set to an empty value counts as not set.
  if (variables.DATABASE_URL) return variables.DATABASE_URL;
  const dataFolder = dataFolderFrom(variables, workingFolder);
  const connectionString = await findEmbeddedPostgres(dataFolder).catch((error: unknown) => {
    throw startFailure(error) ?? error;
  });
  if (connectionString) return connectionString(EMBEDDED_DATABASE);
  throw noService(
    `No database is running in ${dataFolder}. Start one with "npm start", or set COFFER_DATA_DIR.`,
  );
}

/** The folder of the embedded database, running or not. Throws a `CommandFailure` if there is none. */
export async function databaseFolderFrom(variables: Variables, workingFolder: string): Promise<string> {
  if (variables.DATABASE_URL) {
    throw new CommandFailure(
      EXIT.refused,
      'The database is the one in DATABASE_URL: its own server decides where it is kept.',
    );
  }
  const dataFolder = dataFolderFrom(variables, workingFolder);
  const folder = await embeddedPostgresFolder(dataFolder).catch((error: unknown) => {
    throw startFailure(error) ?? error;
  });
  if (folder !== undefined) return folder;
  throw new CommandFailure(
    EXIT.refused,
    `There is no database in ${dataFolder}. Set COFFER_DATA_DIR to the data folder.`,
  );
}

const dataFolderFrom = (variables: Variables, workingFolder: string): string =>
  resolve(workingFolder, variables.COFFER_DATA_DIR || '.data');
