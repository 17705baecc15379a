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
import type { EventStore, LogPlace } from '@coffer/event-store';
import { type BooksProjection, projectBooks } from './books.ts';
import { type PlaySessionRow, playSessionTable } from './playSessions.ts';
import { projectRows, type RowProjection } from './rowProjection.ts';
import { liveReadSchema } from './schema.ts';

export const READ_MODELS_CONSUMER = 'readModels';

/** Each is the pure function of the context whose events it reads. */
export interface ReadModelProjections {
  readonly books: BooksProjection;
  readonly playSessions: RowProjection<PlaySessionRow>;
}

export function readModelsOf(
  schema: string,
  { books, playSessions }: ReadModelProjections,
): readonly Projection[] {
  return [projectBooks(schema, books), projectRows(schema, playSessionTable, playSessions)];
}

export function readModelsWork(schema: string, projections: ReadModelProjections): ConsumerWork {
  return projecting(readModelsOf(schema, projections));
}

/** Fills the schema given: that which is live (`liveReadSchema`), or a new version beside it. */
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
 * Whether the live read models have reached the place that was the head of the log when the service started
 * (`store.head()`), whichever node fills them: what readiness asks.
 */
export async function caughtUpSince(
  db: Queryable,
  store: Pick<EventStore, 'comparePositions'>,
  start: LogPlace | undefined,
): Promise<boolean> {
  const key = { schema: await liveReadSchema(db), name: READ_MODELS_CONSUMER };
  return hasReached(store, await readCheckpoint(db, key), start);
}
