/**
 * The fold that rows are compared with: a separate filling of the read models, from the log alone, kept
 * between runs so that a run continues where the last one ended. All of it is disposable.
 */
import { type HeldProjections, holdProjections, type SkipLookup } from '@coffer/consumers';
import { type Pool, type Queryable, withTransaction } from '@coffer/database';
import type { EventStore } from '@coffer/event-store';
import {
  createReadSchema,
  READ_MODELS_CONSUMER,
  READ_SHAPE,
  type ReadModelProjections,
  readModelsOf,
} from '@coffer/read-models';
import { type ChainOfLog, createAltered, projectAltered } from './altered.ts';
import {
  createTransactionUuids,
  projectTransactionUuids,
  type TransactionUseOf,
} from './transactionUuids.ts';

/** One for each shape of the tables, so that nodes of two releases do not disturb each other. */
export const VERIFIED_SCHEMA = `verified_v${READ_SHAPE}`;

/** The scrub's fold, separate from the other: it is rebuilt slowly, and ordinary runs do not wait for it. */
export const SCRUBBED_SCHEMA = `scrubbed_v${READ_SHAPE}`;

/** All that exist, of any release. */
export async function verifiedSchemas(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ schema: string }>(
    "select nspname as schema from pg_namespace where nspname ~ '^(verified|scrubbed)_v[0-9]+$' order by 1",
  );
  return rows.map(({ schema }) => schema);
}

export interface VerifiedDependencies {
  readonly pool: Pool;
  readonly store: Pick<EventStore, 'subscribeToAll' | 'comparePositions'>;
  readonly projections: ReadModelProjections;
  readonly transactionUseOf: TransactionUseOf;
  readonly chain: ChainOfLog;
  readonly isSkipped?: SkipLookup | undefined;
  /** Where the fold is. Default: `VERIFIED_SCHEMA`. */
  readonly schema?: string;
}

/** The caller has the lock. `anew` discards what was verified before. */
export async function holdVerified(
  {
    pool,
    store,
    projections,
    transactionUseOf,
    chain,
    isSkipped,
    schema = VERIFIED_SCHEMA,
  }: VerifiedDependencies,
  { anew }: { readonly anew: boolean },
): Promise<HeldProjections> {
  await withTransaction(pool, async (client) => {
    if (anew) await client.query(`drop schema if exists ${schema} cascade`);
    await createReadSchema(client, schema);
    await createTransactionUuids(client, schema);
    await createAltered(client, schema);
  });
  return holdProjections({
    pool,
    store,
    key: { schema, name: READ_MODELS_CONSUMER },
    projections: [
      projectAltered(schema, chain),
      ...readModelsOf(schema, projections),
      projectTransactionUuids(schema, transactionUseOf),
    ],
    isSkipped,
  });
}
