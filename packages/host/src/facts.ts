/** What contexts contribute, as far as it is known before any of them is created. */
import { consumerMigrations, createConsumersTable } from '@coffer/consumers';
import { type Migrations, migrate, type Pool } from '@coffer/database';
import { logMigrations, snapshotMigrations } from '@coffer/event-store/postgres';
import { httpErrors } from '@coffer/http';
import { createReadModels, readModelMigrations } from '@coffer/read-models';
import type { ContextFacts, Whole } from './context.ts';
import { storeFailureOf } from './storeFailures.ts';

export function factsOf(definitions: readonly ContextFacts[]): Omit<Whole, 'reactionsOf'> {
  return {
    catalog: Object.assign({}, httpErrors, ...definitions.map(({ errors }) => errors)),
    errorOf(error) {
      for (const { errorOf } of definitions) {
        const failure = errorOf?.(error);
        if (failure) return failure;
      }
      return storeFailureOf(error);
    },
    streams: definitions.flatMap(({ streams = [] }) => streams),
    projections: Object.assign({}, ...definitions.map(({ projections }) => projections)),
    unskippable: definitions.flatMap(({ unskippable = [] }) => unskippable),
  };
}

/** Creates or updates every schema. Several processes may run it at once. */
export async function migrateAll(pool: Pool, definitions: readonly ContextFacts[]): Promise<void> {
  await migrate(pool, migrationsOf(definitions));
  await createConsumersTable(pool, 'records');
  await createReadModels(pool);
}

export const migrationsOf = (definitions: readonly ContextFacts[]): readonly Migrations[] => [
  // Before the records: what is written to them may depend on the log.
  logMigrations,
  snapshotMigrations,
  ...definitions.flatMap(({ migrations = [] }) => migrations),
  consumerMigrations,
  readModelMigrations,
];
