/**
 * Projections run by hand: up to a place that the caller names, and then no further. For work that needs its
 * rows to stand at a certain place, such as a rebuild or a comparison.
 */
import type { Client, Pool } from '@coffer/database';
import { type EventStore, type LogPlace, LogRewrittenError, type RecordedEvent } from '@coffer/event-store';
import { type Checkpoint, type ConsumerKey, claim, saveCheckpoint } from './consumersTable.ts';
import { hasReached } from './progress.ts';
import { beginProjecting, type Projection } from './projecting.ts';
import { nothingIsSkipped, type SkipLookup } from './skipLookup.ts';
import { PAGE_SIZE } from './work.ts';

export interface HeldProjections {
  readonly checkpoint: () => Checkpoint | undefined;
  /**
   * Takes every event up to the place, a page a transaction; each page is kept, so that whoever is killed
   * goes on there. Throws `PoisonEventError`, `LogRewrittenError`, `LostLeaseError` (another has claimed it), the signal's reason.
   */
  readonly advance: (to: LogPlace | undefined, options: AdvanceOptions) => Promise<void>;
  /**
   * The same in a transaction of the caller: seen by it at once, kept when it commits. When that rolls back,
   * this must be given up.
   */
  readonly advanceWithin: (
    client: Client,
    to: LogPlace | undefined,
    options: AdvanceOptions,
  ) => Promise<void>;
}

export interface AdvanceOptions {
  readonly signal: AbortSignal;
  /** Told of the ordinal reached, after each page. */
  readonly onProgress?: (ordinal: number) => void;
}

/** A page that hangs so long is given up. */
const PAGE_TIMEOUT_MS = 30_000;

export interface HoldOptions {
  readonly pool: Pool;
  readonly store: Pick<EventStore, 'subscribeToAll' | 'comparePositions'>;
  readonly key: ConsumerKey;
  readonly projections: readonly Projection[];
  readonly isSkipped?: SkipLookup | undefined;
  readonly pageSize?: number;
}

/**
 * Takes the checkpoint away from whoever had it, by its epoch and without a lease to renew: a renewal beside a
 * transaction of the caller would make that fail. The caller sees to it that it is alone, by a lock.
 */
export async function holdProjections(options: HoldOptions): Promise<HeldProjections> {
  const { pool, store, key, projections, isSkipped = nothingIsSkipped, pageSize = PAGE_SIZE } = options;
  const { epoch, place } = await claim(pool, key);
  const work = beginProjecting(projections, {
    pool,
    place,
    leaseMs: PAGE_TIMEOUT_MS,
    save: (db, from, to) => saveCheckpoint(db, key, epoch, { from, to }),
    isSkipped: (event) => isSkipped(key.name, event),
  });
  return {
    checkpoint: work.place,
    advance: (to, advanceOptions) => takeUpTo(to, work.take, advanceOptions),
    advanceWithin: (client, to, advanceOptions) =>
      takeUpTo(to, (events) => work.takeWithin(client, events), advanceOptions),
  };

  async function takeUpTo(
    to: LogPlace | undefined,
    take: (events: readonly RecordedEvent[]) => Promise<void>,
    { signal, onProgress }: AdvanceOptions,
  ): Promise<void> {
    const isThere = () => hasReached(store, work.place(), to);
    if (!to || isThere()) return;

    const reading = new AbortController();
    const ended = AbortSignal.any([reading.signal, signal]);
    try {
      for await (const message of store.subscribeToAll({ after: work.place(), signal: ended, pageSize })) {
        // The place was in the log before this began: where the end comes before it, the log is another one.
        if (message.kind !== 'events') throw rewritten(to);
        await take(
          message.events.filter((event) => store.comparePositions(event.position, to.position) <= 0),
        );
        onProgress?.(work.place()?.ordinal ?? 0);
        if (!isThere()) continue;
        const reached = work.place();
        if (reached?.position === to.position && reached.eventId !== to.eventId) throw rewritten(to);
        return;
      }
    } finally {
      reading.abort();
    }
    signal.throwIfAborted();
  }
}

const rewritten = ({ position, eventId }: LogPlace) =>
  new LogRewrittenError(`The log does not hold event ${eventId} at position ${position}.`);
