/** `coffer log check` and `coffer log grant`: what the log's user may do. */

import { withPool } from '@coffer/database';
import { type LogRight, logRights } from '@coffer/event-store';
import { insertRight } from '@coffer/event-store/postgres';
import { createLogger } from '@coffer/http';
import { messageOf } from '@coffer/kernel';
import { CommandFailure, EXIT } from './cli/failure.ts';
import { type Config, ConfigurationError, configFrom } from './config.ts';
import { databaseUrlFrom } from './databaseUrl.ts';
import { openEventStore } from './eventStore.ts';
import { startFailure } from './startFailure.ts';

/** Throws a `CommandFailure` if the log cannot be reached, or no database is running. */
export async function checkLogFrom(environment: NodeJS.ProcessEnv): Promise<readonly LogRight[]> {
  try {
    const config = configFrom(environment);
    if (config.eventStoreUrl !== undefined) return await checked(config, '');
    // The embedded one runs with its service: a check starts nothing.
    const databaseUrl = await databaseUrlFrom(environment, process.cwd());
    const insert = await mayInsert(databaseUrl);
    return [...(await checked(config, databaseUrl)), insert];
  } catch (error) {
    throw startFailure(error) ?? error;
  }
}

async function checked(config: Config, databaseUrl: string): Promise<readonly LogRight[]> {
  const store = await openEventStore({ config, databaseUrl, logger: createLogger({ level: 'silent' }) });
  try {
    return await logRights(store);
  } finally {
    await store.close();
  }
}

async function mayInsert(databaseUrl: string): Promise<LogRight> {
  const right = await withPool(databaseUrl, insertRight);
  if (right) return right;
  throw new CommandFailure(
    EXIT.refused,
    'This database has no log yet, or this user may not see it. The first start of the service creates it.',
  );
}

/** Creates the user of EVENTSTORE_URL, with the administrator of EVENTSTORE_ADMIN_URL, and lets it read the log. */
export async function grantLogFrom(environment: NodeJS.ProcessEnv) {
  const { EVENTSTORE_ADMIN_URL: administrator } = environment;
  try {
    const { eventStoreUrl: connectionString } = configFrom(environment);
    if (connectionString === undefined || administrator === undefined) {
      throw new ConfigurationError(
        'Set EVENTSTORE_URL with the user to create, and EVENTSTORE_ADMIN_URL with an administrator of the same server.',
      );
    }
    const { grantReading } = await import('@coffer/event-store/eventstoredb');
    return await grantReading({ connectionString, administrator });
  } catch (error) {
    const failure = startFailure(error);
    if (failure) throw failure;
    throw new CommandFailure(EXIT.refused, `The log refused to grant it: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
