/**
 * `coffer log check`: what the log's user may and may not do. It writes nothing: its append requires a stream that
 * nobody ever creates, so a server that would allow the write answers that the stream does not exist.
 */

import { randomUUID } from 'node:crypto';
import { type EventStore, StoreRefusedError, WrongExpectedRevisionError } from '@coffer/event-store';
import { createLogger } from '@coffer/http';
import { messageOf, newId } from '@coffer/kernel';
import { CommandFailure, EXIT } from './cli/failure.ts';
import { type Config, ConfigurationError, configFrom } from './config.ts';
import { databaseUrlFrom } from './databaseUrl.ts';
import { openEventStore } from './eventStore.ts';
import { withPool } from './run.ts';
import { startFailure } from './startFailure.ts';

export interface LogRight {
  readonly right: string;
  readonly given: boolean;
  /** For a missing permission: the server's message, and how to grant it. */
  readonly reason: string;
}

/** Named like one of our streams, so that the same rules apply to it. */
const NO_STREAM = `playSession-test.${newId('app')}.none`;

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
    return await checkLog(store);
  } finally {
    await store.close();
  }
}

/** Rethrows any failure of the store other than a refusal. */
async function checkLog(store: EventStore): Promise<readonly LogRight[]> {
  return [
    await rightTo('read the log as a whole', () => store.head()),
    await rightTo('read a stream', () => store.heads([NO_STREAM])),
    await rightTo('append to a stream', () => appendNothing(store)),
  ];
}

async function rightTo(right: string, use: () => Promise<unknown>): Promise<LogRight> {
  try {
    await use();
    return { right, given: true, reason: '' };
  } catch (error) {
    if (!(error instanceof StoreRefusedError)) throw error;
    return { right, given: false, reason: error.message };
  }
}

async function appendNothing(store: EventStore): Promise<void> {
  const event = { id: randomUUID(), type: 'LogChecked', data: '{}', metadata: '{}' };
  try {
    await store.append({ stream: NO_STREAM, expectedRevision: 'streamExists', events: [event] });
  } catch (error) {
    if (!(error instanceof WrongExpectedRevisionError)) throw error;
  }
}

/** In PostgreSQL an append that is refused for its revision never reaches the table. */
function mayInsert(databaseUrl: string): Promise<LogRight> {
  return withPool(databaseUrl, async (pool) => {
    const { rows } = await pool.query(
      "select has_table_privilege(to_regclass('log.events'), 'insert') as given",
    );
    const [{ given } = { given: null }] = rows;
    if (given === null) {
      throw new CommandFailure(
        EXIT.refused,
        'This database has no log yet, or this user may not see it. The first start of the service creates it.',
      );
    }
    return {
      right: 'insert into log.events',
      given,
      reason: given
        ? ''
        : 'The user of DATABASE_URL must own the schema "log", or be granted insert on log.events.',
    };
  });
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
