/** Rows are compared with what was read elsewhere only once they have reached the same place. */
import { type Checkpoint, hasReached } from '@coffer/consumers';
import type { Pool } from '@coffer/database';
import { type EventStore, type LogPlace, LogRewrittenError } from '@coffer/event-store';
import { readModelsReached } from '@coffer/read-models';
import { CoverageIncompleteError } from './report.ts';

type Log = Pick<EventStore, 'comparePositions' | 'head'>;

export interface ReadModelsDependencies {
  readonly pool: Pool;
  readonly store: Log;
  readonly limits?: { readonly readModelsWithinMs?: number };
}

/** The checkpoint of the read models, once it has reached the place. */
export async function reachedBy(
  { pool, store, limits }: ReadModelsDependencies,
  place: LogPlace | undefined,
  signal: AbortSignal,
): Promise<Checkpoint | undefined> {
  const untilMs = performance.now() + (limits?.readModelsWithinMs ?? 10_000);
  const { isReached, checkpoint } = await readModelsReached(pool, store, place, { untilMs, signal });
  if (!isReached) {
    throw new CoverageIncompleteError(
      'read_models_behind',
      `The read models are at ${checkpoint?.position ?? 'the beginning'} and the log was at ${place?.position}. Is the projector running?`,
    );
  }
  if (checkpoint && place && store.comparePositions(checkpoint.position, place.position) > 0) {
    await requireWithinLog(store, checkpoint);
  }
  return checkpoint;
}

/**
 * The log grows while the read models follow, so they may be past a head that was read before, but not past
 * this one.
 */
async function requireWithinLog(store: Log, checkpoint: LogPlace): Promise<void> {
  if (hasReached(store, await store.head(), checkpoint)) return;
  throw new LogRewrittenError('The read models have seen more of the log than there is.');
}
