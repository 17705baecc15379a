/** The tables of the read models, for specs. */
import { migrate, type Pool } from '@coffer/database';
import type { TestDatabaseTemplate } from '@coffer/testing';
import { createReadModels, readModelMigrations } from '../schema.ts';

/** On a database of its own: the service has more parts in the same schema. */
export async function migrateReadModels(pool: Pool): Promise<void> {
  await migrate(pool, [readModelMigrations]);
  await createReadModels(pool);
}

/** Its copies have these tables. */
export const readModelsTemplate: TestDatabaseTemplate = {
  name: 'readModels',
  prepare: migrateReadModels,
};
