/**
 * A rebuild: a new version is filled from the log next to the live one, compared with it row by row at one
 * place of the log, and then made live by moving the pointer. Readers see one version or the other, as a
 * whole, and never the new one at an earlier place than they have seen in the old one. Source: architecture,
 * Projections and reconcile.
 */
import {
  type HeldProjections,
  holdProjections,
  readCheckpoint,
  retireConsumer,
  type SkipLookup,
} from '@coffer/consumers';
import { type Client, type Pool, type Queryable, withAdvisoryLock, withTransaction } from '@coffer/database';
import type { EventStore } from '@coffer/event-store';
import { compareReadSchemas, READ_TABLES, type TableComparison } from './compare.ts';
import { READ_MODELS_CONSUMER, type ReadModelProjections, readModelsOf } from './readModels.ts';
import { beginFilling, dropFilling, liveReadSchema, makeLive } from './schema.ts';

export interface RebuildDependencies {
  readonly pool: Pool;
  readonly store: Pick<EventStore, 'subscribeToAll' | 'comparePositions' | 'head'>;
  readonly projections: ReadModelProjections;
  readonly isSkipped?: SkipLookup | undefined;
  /** Called when something begun could not be cleaned up: the next rebuild will do it. */
  readonly onTrouble: (error: unknown) => void;
}

type RebuildStage = 'filling' | 'comparing' | 'done';

export interface RebuildProgress {
  readonly stage: RebuildStage;
  /** Events taken, of those that the live read models had taken at the start. */
  readonly done: number;
  readonly of: number;
}

export interface RebuildOptions {
  /** Moves the pointer only if all rows are equal; otherwise the new version is dropped. */
  readonly verify: boolean;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: RebuildProgress) => void;
}

export interface RebuildResult {
  /** Every row of the live read models agreed with the log. */
  readonly equal: boolean;
  /** The new version is now the live one. */
  readonly moved: boolean;
  /** The schemas before and after; equal if the pointer has not moved. */
  readonly previous: string;
  readonly live: string;
  /** The number of events from which the compared rows were derived. */
  readonly events: number;
  readonly tables: readonly TableComparison[];
}

export class RebuildUnderWayError extends Error {
  override readonly name = 'RebuildUnderWayError';
}

/** An arbitrary constant; the lock is held while a rebuild runs. */
const REBUILD_LOCK = 7_263_005;

/** A process frozen in a transaction must not hold up others for longer. */
const IDLE_TRANSACTION_MS = 30_000;

/**
 * Fails at once if the log is absent; waits if it goes away later. Throws `StoreUnreachableError`,
 * `RebuildUnderWayError`, `LockLostError`, the errors of `HeldProjections`, and the signal's reason.
 */
export async function rebuildReadModels(
  dependencies: RebuildDependencies,
  options: RebuildOptions,
): Promise<RebuildResult> {
  const { pool, store, projections, isSkipped, onTrouble } = dependencies;
  await store.head();
  const locked = await withAdvisoryLock(pool, REBUILD_LOCK, async (lost) => {
    const signal = AbortSignal.any([options.signal, lost]);
    signal.throwIfAborted();
    const previous = await liveReadSchema(pool);
    const schema = await beginFilling(pool);
    try {
      const held = await holdProjections({
        pool,
        store,
        key: { schema, name: READ_MODELS_CONSUMER },
        projections: readModelsOf(schema, projections),
        isSkipped,
      });
      return await fillCompareMove(dependencies, { ...options, signal }, held, { previous, schema });
    } finally {
      // A version that was not made live. If the database is away, the next rebuild cleans up.
      await dropFilling(pool, schema).catch(onTrouble);
    }
  });
  if (!locked) throw new RebuildUnderWayError('A rebuild of the read models is under way.');
  return locked.result;
}

interface Versions {
  /** The live schema. */
  readonly previous: string;
  /** The schema being filled. */
  readonly schema: string;
}

async function fillCompareMove(
  dependencies: RebuildDependencies,
  { verify, signal, onProgress }: RebuildOptions,
  held: HeldProjections,
  versions: Versions,
): Promise<RebuildResult> {
  const { pool } = dependencies;
  const { previous, schema } = versions;
  const key = { schema: previous, name: READ_MODELS_CONSUMER };
  const followLive = async () => held.advance(await readCheckpoint(pool, key), { signal });

  const target = await readCheckpoint(pool, key);
  const of = target?.ordinal ?? 0;
  const report = (stage: RebuildStage) => onProgress({ stage, done: Math.min(reached(held), of), of });
  report('filling');
  await held.advance(target, { signal, onProgress: () => report('filling') });
  // Also takes what was written meanwhile, so that little is left for the transactions below.
  await followLive();
  await analyze(pool, schema);

  report('comparing');
  const tables = await compareAtOnePlace(dependencies, signal, held, versions);
  const events = reached(held);
  const equal = tables.every(({ differing }) => differing === 0);
  const moved = equal || !verify;
  if (moved) {
    await followLive();
    await move(dependencies, signal, held, versions);
  }
  report('done');
  return { equal, moved, previous, live: moved ? schema : previous, events, tables };
}

const reached = (held: HeldProjections) => held.checkpoint()?.ordinal ?? 0;

/** Without this, queries on tables this new would be planned without knowing their size. */
async function analyze(db: Queryable, schema: string): Promise<void> {
  await db.query(
    `analyze ${Object.keys(READ_TABLES)
      .map((table) => `${schema}.${table}`)
      .join(', ')}`,
  );
}

/** The live rows and their checkpoint are read in one snapshot; the new rows are brought to the same place. */
function compareAtOnePlace(
  { pool, onTrouble }: RebuildDependencies,
  signal: AbortSignal,
  held: HeldProjections,
  { previous, schema }: Versions,
): Promise<readonly TableComparison[]> {
  return abortableTransaction(pool, { isolation: 'repeatable read', signal, onTrouble }, async (client) => {
    // Whole tables are joined.
    await client.query("set local work_mem = '64MB'");
    const place = await readCheckpoint(client, { schema: previous, name: READ_MODELS_CONSUMER });
    await held.advanceWithin(client, place, { signal });
    return compareReadSchemas(client, { expected: schema, actual: previous });
  });
}

/**
 * From here on the live version never advances again: if it continued while the pointer moves, a reader could
 * see something in it that the new version does not show yet.
 */
function move(
  { pool, onTrouble }: RebuildDependencies,
  signal: AbortSignal,
  held: HeldProjections,
  { previous, schema }: Versions,
): Promise<void> {
  return abortableTransaction(pool, { isolation: 'read committed', signal, onTrouble }, async (client) => {
    const place = await retireConsumer(client, { schema: previous, name: READ_MODELS_CONSUMER });
    await held.advanceWithin(client, place, { signal });
    await makeLive(client, schema);
  });
}

interface AbortableTransaction {
  readonly isolation: 'read committed' | 'repeatable read';
  readonly signal: AbortSignal;
  readonly onTrouble: (error: unknown) => void;
}

/** On abort, cancels the statement in flight, rolls back and throws the signal's reason. */
function abortableTransaction<Result>(
  pool: Pool,
  { isolation, signal, onTrouble }: AbortableTransaction,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  return withTransaction(pool, async (client) => {
    await client.query(`set transaction isolation level ${isolation};
                        set local idle_in_transaction_session_timeout = ${IDLE_TRANSACTION_MS}`);
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    let cancelling: Promise<unknown> | undefined;
    const cancel = () => {
      cancelling = pool.query('select pg_cancel_backend($1)', [rows[0]?.pid]).catch(onTrouble);
    };
    signal.addEventListener('abort', cancel);
    try {
      signal.throwIfAborted();
      return await work(client);
    } finally {
      signal.removeEventListener('abort', cancel);
      // It must not hit the connection's next user.
      await cancelling;
      signal.throwIfAborted();
    }
  });
}
