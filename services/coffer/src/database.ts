/** The database of the service, opened: the configured one, or the embedded one in the data folder. */
import { type Pool, withPool } from '@coffer/database';
import { startEmbeddedPostgres } from '@coffer/embedded-postgres';
import { migrateAll } from '@coffer/host';
import { createLogger, type Logger } from '@coffer/http';
import { type Config, configFrom } from './config.ts';
import { CONTEXTS } from './contexts.ts';
import { EMBEDDED_DATABASE } from './databaseUrl.ts';

export interface Database {
  readonly url: string;
  readonly isEmbedded: boolean;
  /** For the embedded database. */
  readonly folder?: string;
  readonly stop: () => Promise<void>;
}

export async function openDatabase(
  { databaseUrl, dataFolder }: Pick<Config, 'databaseUrl' | 'dataFolder'>,
  logger: Logger,
  onLost: (error: Error) => void,
): Promise<Database> {
  if (databaseUrl !== undefined) return { url: databaseUrl, isEmbedded: false, stop: async () => undefined };
  const postgres = await startEmbeddedPostgres({
    folder: dataFolder,
    databases: [EMBEDDED_DATABASE],
    logger,
    onLost,
  });
  return {
    url: postgres.socketConnectionString(EMBEDDED_DATABASE),
    isEmbedded: true,
    folder: postgres.clusterFolder,
    stop: postgres.stop,
  };
}

interface Offline {
  readonly config: Config;
  readonly pool: Pool;
  readonly databaseUrl: string;
  readonly logger: Logger;
}

/** For commands that need every table, and no service that runs. */
export async function offline<Result>(
  environment: NodeJS.ProcessEnv,
  work: (opened: Offline) => Promise<Result>,
): Promise<Result> {
  const config = configFrom(environment);
  const logger = createLogger({ level: 'silent' });
  const database = await openDatabase(config, logger, (error) => logger.fatal({ err: error }, 'lost'));
  try {
    return await withPool(database.url, async (pool) => {
      await migrateAll(pool, CONTEXTS.definitions);
      return work({ config, pool, databaseUrl: database.url, logger });
    });
  } finally {
    await database.stop();
  }
}
