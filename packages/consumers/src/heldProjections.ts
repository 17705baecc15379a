/**
 * Projections run by hand, up to a place that the caller names. For work that needs its rows at an exact place, such as
 * a rebuild or a comparison.
 */
import type { Client, Pool } from '@coffer/database';
import {
  type EventStore,
  type LogPlace,
  LogRewrittenError,
  type RecordedEvent,
  type SubscriptionMessage,
} from '@coffer/event-store';
import { ascending } from './ascending.ts';
import { type Checkpoint, type ConsumerKey, claim, saveCheckpoint } from './consumersTable.ts';
import { hasReached } from './progress.ts';
import { beginProjecting, type Projection } from './projecting.ts';
import { nothingIsSkipped, type SkipLookup } from './skipLookup.ts';
import { PAGE_SIZE } from './work.ts';

export interface HeldProjections {
  readonly checkpoint: () => Checkpoint | undefined;
  /**
   * Takes every event up to the place, one page per transaction; each page is kept, so after a kill the work resumes
   * there. Throws `PoisonEventError`, `LogRewrittenError`, `LostLeaseError` (another has claimed it), the signal's reason.
   */
  readonly advance: (to: LogPlace | undefined, options: AdvanceOptions) => Promise<void>;
  /**
   * The same in the caller's transaction: visible to it at once, kept when it commits. After a rollback this object must
   * be discarded.
   */
  readonly advanceWithin: (
    client: Client,
    to: LogPlace | undefined,
    options: AdvanceOptions,
  ) => Promise<void>;
}

interface AdvanceOptions {
  readonly signal: AbortSignal;
  /** Called with the ordinal reached, after each page; what it returns is awaited before the next one is taken. */
  readonly onProgress?: (ordinal: number) => void | Promise<void>;
  /** Whether others count for more than speed: then nothing is read until all that is done. Default: no. */
  readonly isUnhurried?: () => boolean;
}

/** A page that takes longer is aborted. */
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
 * Takes the checkpoint from its holder, by the epoch and without a lease: renewing one would make the caller's
 * transaction fail. The caller ensures by a lock that it is alone.
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
    { signal, onProgress, isUnhurried = () => false }: AdvanceOptions,
  ): Promise<void> {
    const isThere = () => hasReached(store, work.place(), to);
    if (!to || isThere()) return;

    const reading = new AbortController();
    const ended = AbortSignal.any([reading.signal, signal]);
    const pages = pagesUpTo(store.subscribeToAll({ after: work.place(), signal: ended, pageSize }), to);
    const next = gatherer(pages);
    const gather = () => next(isUnhurried() ? UNHURRIED_EVENTS : GATHERED_EVENTS);
    let upcoming: ReturnType<typeof gather> | undefined;
    /** False at the end. A function, so that nothing holds the events once they are taken. */
    const takeNext = async (): Promise<boolean> => {
      const events = await (upcoming ?? gather());
      upcoming = undefined;
      if (events.length === 0) return false;
      if (!isUnhurried()) {
        upcoming = gather();
        // Thrown where it is awaited, which nobody does once the place is reached.
        upcoming.catch(() => undefined);
      }
      await take(events);
      return true;
    };
    try {
      while (await takeNext()) {
        await onProgress?.(work.place()?.ordinal ?? 0);
        if (!isThere()) continue;
        const reached = work.place();
        if (reached?.position === to.position && reached.eventId !== to.eventId) throw rewritten(to);
        return;
      }
    } finally {
      reading.abort();
      // After the page that is being read.
      await pages.return(undefined);
    }
    signal.throwIfAborted();
  }

  /** Up to the place; the page with the place or an event behind it is the last. */
  async function* pagesUpTo(
    messages: AsyncIterable<SubscriptionMessage>,
    to: LogPlace,
  ): AsyncGenerator<readonly RecordedEvent[]> {
    const compare = ({ position }: RecordedEvent) => store.comparePositions(position, to.position);
    const expectNext = ascending(store, work.place());
    for await (const message of messages) {
      // The place was in the log before this began: a log that ends earlier is a different one.
      if (message.kind !== 'events') throw rewritten(to);
      const { events } = message;
      expectNext(events);
      const last = events.at(-1);
      const isEnd = last !== undefined && compare(last) >= 0;
      yield isEnd ? events.filter((event) => compare(event) <= 0) : events;
      if (isEnd) return;
    }
  }
}

/** A filling writes a row once for all its events in a transaction: the more there are, the better. */
const GATHERED_EVENTS = 10_000;
/** Fewer leave the machine to others the sooner, and take a third of the memory. ADR 0065. */
const UNHURRIED_EVENTS = 4_000;
const GATHERED_CHARACTERS = 8 * 1024 * 1024;

/** Gives the pages that hold so many of the next ones, none at the end. What comes before a failure is still given. */
function gatherer(
  pages: AsyncIterator<readonly RecordedEvent[]>,
): (enough: number) => Promise<readonly RecordedEvent[]> {
  let failed: { readonly error: unknown } | undefined;
  return async (enough) => {
    if (failed) throw failed.error;
    let events: readonly RecordedEvent[] = [];
    let characters = 0;
    try {
      while (events.length < enough && characters < GATHERED_CHARACTERS) {
        const { done, value: page } = await pages.next();
        if (done) break;
        for (const event of page) characters += event.data.length + event.metadata.length;
        events = [...events, ...page];
      }
    } catch (error) {
      failed = { error };
      if (events.length === 0) throw error;
    }
    return events;
  };
}

const rewritten = ({ position, eventId }: LogPlace) =>
  new LogRewrittenError(`The log does not hold event ${eventId} at position ${position}.`);
