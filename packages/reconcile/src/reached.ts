/** Rows are compared with what was read elsewhere only once they have reached the same place. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Checkpoint, hasReached, readCheckpoint } from '@coffer/consumers';
import type { Pool } from '@coffer/database';
import { type EventStore, type LogPlace, LogRewrittenError } from '@coffer/event-store';
import { liveReadSchema, READ_MODELS_CONSUMER } from '@coffer/read-models';
import { CoverageIncompleteError } from './report.ts';

type Log = Pick<EventStore, 'comparePositions' | 'head'>;

export interface ReadModelsDependencies {
  readonly pool: Pool;
  readonly store: Log;
  readonly limits?: { readonly readModelsWithinMs?: number };
}

const BEHIND_POLL_MS = 25;

/** The checkpoint of the read models, once it has reached the place. */
export async function reachedBy(
  { pool, store, limits }: ReadModelsDependencies,
  place: LogPlace | undefined,
  signal: AbortSignal,
): Promise<Checkpoint | undefined> {
  const end = performance.now() + (limits?.readModelsWithinMs ?? 10_000);
  for (;;) {
    // Read each time: a version that is no longer live never advances.
    const schema = await liveReadSchema(pool);
    const checkpoint = await readCheckpoint(pool, { schema, name: READ_MODELS_CONSUMER });
    if (hasReached(store, checkpoint, place)) {
      if (checkpoint && place && store.comparePositions(checkpoint.position, place.position) > 0) {
        await requireWithinLog(store, checkpoint);
      }
      return checkpoint;
    }
    if (performance.now() > end) {
      throw new CoverageIncompleteError(
        'read_models_behind',
        `The read models are at ${checkpoint?.position ?? 'the beginning'} and the log was at ${place?.position}. Is the projector running?`,
      );
    }
    await delay(BEHIND_POLL_MS, undefined, { signal });
  }
}

/**
 * The log grows while the read models follow, so they may be past a head that was read before, but not past
 * this one.
 */
async function requireWithinLog(store: Log, checkpoint: LogPlace): Promise<void> {
  if (hasReached(store, await store.head(), checkpoint)) return;
  throw new LogRewrittenError('The read models have seen more of the log than there is.');
}
