/** What a consumer does with events: the two kinds are `projecting` and `reacting`. */
import type { Pool, Queryable } from '@coffer/database';
import type { LogPlace, RecordedEvent } from '@coffer/event-store';
import type { Checkpoint } from './consumersTable.ts';
import type { PendingFigures } from './pendingCauses.ts';

/** Events per page. */
export const PAGE_SIZE = 2_000;

/** One period of holding the lease. */
export interface Session {
  readonly pool: Pool;
  /** The checkpoint to resume from. */
  readonly place: Checkpoint | undefined;
  /** How long the lease lasts without renewal. */
  readonly leaseMs: number;
  /** Moves the checkpoint by compare-and-set; throws `LostLeaseError`. */
  readonly save: (db: Queryable, from: LogPlace | undefined, to: Checkpoint | undefined) => Promise<void>;
  /** Whether an operator has told this consumer to skip the event, which it cannot take. */
  readonly isSkipped: (event: RecordedEvent) => Promise<boolean>;
  /** Aborted when the consumer stops or the lease is gone. */
  readonly signal: AbortSignal;
  /** Ends the session, from outside `take`. */
  readonly fail: (error: unknown) => void;
  /** Called for problems that will be retried. */
  readonly onTrouble: (error: unknown) => void;
}

export interface RunningWork {
  /** Takes a page; the next one is read when this is done. Throws `PoisonEventError`. */
  readonly take: (events: readonly RecordedEvent[]) => Promise<void>;
  readonly caughtUp: () => void;
  /** Finishes what has begun and begins nothing more. */
  readonly end: () => Promise<void>;
  /** After `end`, while the lease is still held: saves what is unsaved. */
  readonly saveLast: () => Promise<void>;
  readonly pending: () => PendingFigures | undefined;
}

export interface ConsumerWork {
  /**
   * Asked before each session by work that keeps its place elsewhere, with what it writes: the place to read on from. The
   * checkpoint follows it.
   */
  readonly resume?: (signal: AbortSignal) => Promise<Checkpoint | undefined>;
  readonly begin: (session: Session) => RunningWork;
}

/** The place of the event with this ordinal in the log. */
export const checkpointAt = ({ position, id }: RecordedEvent, ordinal: number): Checkpoint => ({
  position,
  eventId: id,
  ordinal,
});
