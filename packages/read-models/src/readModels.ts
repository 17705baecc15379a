/** The one consumer that keeps all read models: they share a page, a transaction and a checkpoint. */
import {
  type Consumer,
  type ConsumerOptions,
  type ConsumerWork,
  hasReached,
  type Projection,
  projecting,
  readCheckpoint,
  startConsumer,
} from '@coffer/consumers';
import type { Queryable } from '@coffer/database';
import {
  type EventStore,
  type LogPlace,
  LogRewrittenError,
  StoreUnreachableError,
} from '@coffer/event-store';
import { type BooksProjection, type OtherPostings, projectBooks } from './books.ts';
import { type MoveRow, moveTable } from './moves.ts';
import { type PlaySessionRow, playSessionTable } from './playSessions.ts';
import { type PoolsProjection, projectPools } from './pools.ts';
import { projectReferrals, type ReferralsProjection } from './referrals.ts';
import { projectRows, type RowProjection } from './rowProjection.ts';
import { liveReadSchema } from './schema.ts';

export const READ_MODELS_CONSUMER = 'readModels';

/** Each is the pure function of the context whose events it reads; the tables of an absent context stay empty. */
export interface ReadModelProjections {
  readonly books?: BooksProjection;
  readonly playSessions?: RowProjection<PlaySessionRow>;
  readonly moves?: RowProjection<MoveRow>;
  readonly pools?: PoolsProjection;
  /** What the books hold of pools. */
  readonly poolPostings?: OtherPostings;
  readonly referrals?: ReferralsProjection;
  /** What the books hold of referral earnings. */
  readonly earningsPostings?: OtherPostings;
}

export function readModelsOf(
  schema: string,
  { books, playSessions, moves, pools, poolPostings, referrals, earningsPostings }: ReadModelProjections,
): readonly Projection[] {
  const otherPostings = [poolPostings, earningsPostings].filter((postings) => postings !== undefined);
  return [
    ...(books ? [projectBooks(schema, books, otherPostings)] : []),
    ...(playSessions ? [projectRows(schema, playSessionTable, playSessions)] : []),
    ...(moves ? [projectRows(schema, moveTable, moves)] : []),
    ...(pools ? [projectPools(schema, pools)] : []),
    ...(referrals ? projectReferrals(schema, referrals) : []),
  ];
}

export function readModelsWork(schema: string, projections: ReadModelProjections): ConsumerWork {
  return projecting(readModelsOf(schema, projections));
}

/** Fills the given schema: the live one (`liveReadSchema`), or a new version next to it. */
export function startReadModels(
  options: Omit<ConsumerOptions, 'name' | 'work'> & { readonly projections: ReadModelProjections },
): Consumer {
  const { projections, ...rest } = options;
  return startConsumer({
    ...rest,
    name: READ_MODELS_CONSUMER,
    work: readModelsWork(options.schema, projections),
  });
}

/**
 * Whether the live read models have reached the head that the log had when the service started (`store.head()`),
 * whichever node fills them: for readiness.
 */
export async function caughtUpSince(
  db: Queryable,
  store: Pick<EventStore, 'comparePositions'>,
  start: LogPlace | undefined,
): Promise<boolean> {
  const key = { schema: await liveReadSchema(db), name: READ_MODELS_CONSUMER };
  return hasReached(store, await readCheckpoint(db, key), start);
}

/** Longer than this counts as no answer from the log. */
const LOOK_LIMIT_MS = 2_000;

/**
 * Whether the log holds the event at the checkpoint of the live read models. False when the log was restored to an older
 * state: then they show what never happened. Throws `StoreUnreachableError` when the log does not answer.
 */
export async function areOfThisLog(
  db: Queryable,
  store: Pick<EventStore, 'subscribeToAll' | 'head'>,
): Promise<boolean> {
  const key = { schema: await liveReadSchema(db), name: READ_MODELS_CONSUMER };
  const after = await readCheckpoint(db, key);
  if (!after) {
    await store.head();
    return true;
  }
  const looking = new AbortController();
  const signal = AbortSignal.any([looking.signal, AbortSignal.timeout(LOOK_LIMIT_MS)]);
  try {
    for await (const _ of store.subscribeToAll({ after, signal, pageSize: 1 })) return true;
    throw new StoreUnreachableError('The log does not answer.');
  } catch (error) {
    if (error instanceof LogRewrittenError) return false;
    throw error;
  } finally {
    looking.abort();
  }
}
