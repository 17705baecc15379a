/** Everything that reads the log, as the database knows it, whichever process runs it. */
import { type ConsumerRow, listConsumers } from '@coffer/consumers';
import type { Pool } from '@coffer/database';
import { liveReadSchema } from './schema.ts';

export interface SchemaConsumer extends ConsumerRow {
  readonly schema: string;
}

export async function allConsumers(pool: Pool): Promise<readonly SchemaConsumer[]> {
  const schemas = [await liveReadSchema(pool), 'records'];
  const rows = schemas.map(async (schema) =>
    (await listConsumers(pool, schema)).map((row) => ({ schema, ...row })),
  );
  return (await Promise.all(rows)).flat();
}
