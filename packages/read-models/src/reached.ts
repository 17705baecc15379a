/** Rows follow the log: how far they are, and waiting for them. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Checkpoint, hasReached, readCheckpoint } from '@coffer/consumers';
import type { Queryable } from '@coffer/database';
import type { Deadline, EventStore, LogPlace } from '@coffer/event-store';
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

/** Rows are 0.1 s behind; a list does not wait for a projector that has stopped. */
const ROWS_WITHIN_MS = 2_000;

/** Waits until the rows show what is in the log now, so that a list shows what was just written. */
export async function rowsAsNow(
  db: Queryable,
  store: Pick<EventStore, 'head' | 'comparePositions'>,
  { deadlineMs }: Deadline,
): Promise<void> {
  const untilMs = Math.min(performance.now() + ROWS_WITHIN_MS, deadlineMs);
  await readModelsReached(db, store, await store.head(), { untilMs });
}
