/** Rows follow the log: how far they are, and waiting for them. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Checkpoint, hasReached, readCheckpoint } from '@coffer/consumers';
import type { Queryable } from '@coffer/database';
import type { EventStore, LogPlace } from '@coffer/event-store';
import { READ_MODELS_CONSUMER } from './readModels.ts';
import { liveReadSchema } from './schema.ts';

const POLL_MS = 25;

export interface Reached {
  readonly isReached: boolean;
  readonly checkpoint: Checkpoint | undefined;
}

/** The checkpoint of the live read models, once it has reached the place or time is up. */
export async function readModelsReached(
  db: Queryable,
  store: Pick<EventStore, 'comparePositions'>,
  place: LogPlace | undefined,
  {
    untilMs,
    signal,
  }: {
    /** Milliseconds of `performance.now()`. */
    readonly untilMs: number;
    readonly signal?: AbortSignal;
  },
): Promise<Reached> {
  for (;;) {
    // Read each time: a version that is no longer live never advances.
    const schema = await liveReadSchema(db);
    const checkpoint = await readCheckpoint(db, { schema, name: READ_MODELS_CONSUMER });
    const isReached = hasReached(store, checkpoint, place);
    if (isReached || performance.now() > untilMs) return { isReached, checkpoint };
    await delay(POLL_MS, undefined, { signal });
  }
}
