/**
 * A rebuild: a new version is filled from the log beside the live one, compared with it row by row at one
 * place of the log, and then made live by moving the pointer. Readers see the one or the other, whole.
 * Source: architecture, Projections and reconcile.
 */
import { type HeldProjections, holdProjections, readCheckpoint } from '@coffer/consumers';
import { type Client, type Pool, type Queryable, withAdvisoryLock, withTransaction } from '@coffer/database';
import type { EventStore, LogPlace } from '@coffer/event-store';
import { compareReadSchemas, type TableComparison } from './compare.ts';
import { READ_MODELS_CONSUMER, type ReadModelProjections, readModelsOf } from './readModels.ts';
import { createReadSchema, liveReadSchema, READ_SHAPE, readSchemaOf } from './schema.ts';

export interface RebuildDependencies {
  readonly pool: Pool;
  readonly store: Pick<EventStore, 'subscribeToAll' | 'comparePositions' | 'head'>;
  readonly projections: ReadModelProjections;
  readonly onTrouble: (error: unknown) => void;
}

export type RebuildStage = 'filling' | 'comparing' | 'done';

export interface RebuildProgress {
  readonly stage: RebuildStage;
  /** Events taken, of those that the live read models had taken when this began. */
  readonly done: number;
  readonly of: number;
}

export interface RebuildOptions {
  /** Move the pointer only when every row is equal; the new version is dropped when one is not. */
  readonly verify: boolean;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: RebuildProgress) => void;
}

export interface RebuildResult {
  /** Every row of the live read models was what the log says. */
  readonly equal: boolean;
  /** The new version is the live one now. */
  readonly moved: boolean;
  /** Schemas of before and after; the same when the pointer has not moved. */
  readonly previous: string;
  readonly live: string;
  /** Events in the rows compared. */
  readonly events: number;
  readonly tables: readonly TableComparison[];
}

/** Another rebuild is under way. */
export class RebuildUnderWayError extends Error {
  override readonly name = 'RebuildUnderWayError';
}

/** Any constant: held for as long as a rebuild runs. */
const REBUILD_LOCK = 7_263_005;

/** Throws `RebuildUnderWayError`, what `HeldProjections` throws, and the signal's reason. */
export async function rebuildReadModels(
  dependencies: RebuildDependencies,
  options: RebuildOptions,
): Promise<RebuildResult> {
  const { pool, store, projections, onTrouble } = dependencies;
  const locked = await withAdvisoryLock(pool, REBUILD_LOCK, async () => {
    await dropOrphans(pool);
    const previous = await liveReadSchema(pool);
    const version = await nextVersion(pool);
    const schema = readSchemaOf(version);
    await withTransaction(pool, (client) => createReadSchema(client, schema));
    try {
      const key = { schema, name: READ_MODELS_CONSUMER };
      const held = await holdProjections({
        pool,
        store,
        key,
        projections: readModelsOf(schema, projections),
      });
      return await fillCompareMove(dependencies, options, held, { previous, version });
    } finally {
      // One that was not made live. Where the database is away it is for the next rebuild to clear up.
      await dropOrphans(pool).catch(onTrouble);
    }
  });
  if (!locked) throw new RebuildUnderWayError('A rebuild of the read models is under way.');
  return locked.result;
}

async function fillCompareMove(
  { pool }: RebuildDependencies,
  { verify, signal, onProgress }: RebuildOptions,
  held: HeldProjections,
  { previous, version }: { readonly previous: string; readonly version: number },
): Promise<RebuildResult> {
  const schema = readSchemaOf(version);
  const checkpointOfLive = (db: Queryable) =>
    readCheckpoint(db, { schema: previous, name: READ_MODELS_CONSUMER });

  const target = await checkpointOfLive(pool);
  const of = target?.ordinal ?? 0;
  const report = (stage: RebuildStage) => onProgress({ stage, done: Math.min(reached(held), of), of });
  report('filling');
  await held.advance(target, { signal, onProgress: () => report('filling') });
  // What has been written meanwhile is taken as well, so that little is left for the transaction below.
  await held.advance(await checkpointOfLive(pool), { signal });

  report('comparing');
  return withTransaction(pool, async (client) => {
    // One snapshot: the live rows and their checkpoint stand still, and the new ones are brought to the same place.
    await client.query('set transaction isolation level repeatable read');
    const place: LogPlace | undefined = await checkpointOfLive(client);
    await held.advanceWithin(client, place, { signal });
    const tables = await compareReadSchemas(client, { expected: schema, actual: previous });
    const equal = tables.every(({ differing }) => differing === 0);
    const moved = equal || !verify;
    if (moved) await movePointer(client, version);
    report('done');
    return {
      equal,
      moved,
      previous,
      live: moved ? schema : previous,
      events: reached(held),
      tables,
    };
  });
}

const reached = (held: HeldProjections) => held.checkpoint()?.ordinal ?? 0;

async function movePointer(client: Client, version: number): Promise<void> {
  await client.query(
    'update records.read_pointer set version = $2, moved_at = clock_timestamp() where shape = $1',
    [READ_SHAPE, version],
  );
}

async function nextVersion(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ version: number }>(
    'select max(version) + 1 as version from records.read_pointer',
  );
  return Number(rows[0]?.version);
}

/** Versions that were never made live: above every one that a pointer names. */
async function dropOrphans(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ schema: string }>(
    `select nspname as schema from pg_namespace
      where nspname ~ '^read_v[0-9]+$'
        and substr(nspname, 7)::integer > (select max(version) from records.read_pointer)`,
  );
  for (const { schema } of rows) await pool.query(`drop schema ${schema} cascade`);
}
