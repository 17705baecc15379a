/**
 * Snapshots spare a cold fold. They are disposable: the log is the truth. A snapshot is used only if the service wrote it
 * and the log still holds the very event at which it was taken; all of them may be deleted.
 */
import type { EncodedState } from '@coffer/kernel';
import { hashOfStream } from './streamHash.ts';

export interface Snapshot {
  readonly revision: number;
  readonly eventId: string;
  readonly state: EncodedState;
}

/** The key of a snapshot. */
export interface SnapshotPlace {
  readonly stream: string;
  readonly deciderVersion: number;
}

export interface PlacedSnapshot extends SnapshotPlace, Snapshot {}

export interface SnapshotStore {
  /**
   * What is made of the snapshot of each place, in their order; undefined also for one that the service did not write.
   * `restore` keeps no bytes of it: their memory is used again.
   */
  load<Place extends SnapshotPlace, Restored>(
    places: readonly Place[],
    restore: (place: Place, snapshot: Snapshot) => Restored,
  ): Promise<readonly (Restored | undefined)[]>;
  /** Each in place of its stream's former one. At most one of a stream. */
  save(snapshots: readonly PlacedSnapshot[]): Promise<void>;
  /** Those of the streams in every version. */
  remove(streams: readonly string[]): Promise<void>;
}

/** Snapshots as stored, whoever wrote them: for a verification, which compares them with the fold. */
export interface KeptSnapshots {
  readonly placesAmong: (streams: readonly string[]) => Promise<readonly SnapshotPlace[]>;
  /** One for each place, in their order. */
  readonly read: (places: readonly SnapshotPlace[]) => Promise<readonly (KeptSnapshot | undefined)[]>;
}

export interface KeptSnapshot extends Omit<Snapshot, 'state'> {
  readonly state: PackedState;
  /** False if the service did not write it; it is then not used. */
  readonly isAuthentic: boolean;
}

/** What decides whether a state is worth a snapshot. */
export interface SnapshotNeed {
  readonly stream: string;
  /** Revision of the last event folded. */
  readonly revision: number;
  /** Revision of the stream's snapshot; -1 when none is known. */
  readonly savedRevision: number;
  readonly bytes: number;
  /** The stream is expected to rest from now on. */
  readonly isEnded: boolean;
}

/** Streams of fewer events have no snapshot: they are many, and quick to fold. */
const MIN_EVENTS = 16;
/** An ended stream that is longer keeps its snapshot: folding it anew would take 20 ms or more. */
const MIN_EVENTS_OF_ENDED = 2_000;

/**
 * For a state that leaves the cache. Writing a row costs about 60 µs and 6 µs for each KiB of the state, this process and
 * the database together; folding an event that was read for it, 12 µs. A stream that comes back for one event at a time
 * folds 1 + 2 + … + n events until its next snapshot after n, so the sum is least where n² = 2 × row / event.
 */
export function isWorthSaving(need: SnapshotNeed): boolean {
  const { revision, savedRevision, bytes } = need;
  return isLongEnough(need) && (revision - savedRevision) ** 2 >= 10 + bytes / 1024;
}

const isLongEnough = ({ revision, isEnded }: SnapshotNeed): boolean =>
  revision + 1 >= (isEnded ? MIN_EVENTS_OF_ENDED : MIN_EVENTS);

/** Between two snapshots of a state that stays in the cache. */
const MIN_EVENTS_OF_CACHED = 128;

/**
 * For a state that stays in the cache, in case the process is killed: the first behind 128 events, then whenever the
 * stream has grown by half, each a part later that is the stream's own: streams that are played in step would all be
 * saved at once. A snapshot costs as much as the state is large, so a fixed interval would make the cost of a long stream
 * quadratic; this way an event costs about 2 µs. ADR 0088.
 */
export function hasGrownByHalf(need: SnapshotNeed): boolean {
  const { stream, revision, savedRevision } = need;
  const least = Math.max(MIN_EVENTS_OF_CACHED, savedRevision / 2);
  const grownBy = revision - savedRevision;
  // A name is hashed only where it decides.
  return isLongEnough(need) && grownBy >= least && grownBy >= least * (1 + ownShareOf(stream) / 2);
}

/** From 0 to 1. */
const ownShareOf = (stream: string): number => hashOfStream(stream) / 2 ** 32;

const MIN_EVENTS_OF_OUTLINED = 32;

/**
 * For a state whose outline stays: the row is needed only where that does not suffice. A state that is itself from an
 * outline has to be read first, so that rows are written less often.
 */
export function hasLongTail(need: SnapshotNeed): boolean {
  return isLongEnough(need) && need.revision - need.savedRevision >= MIN_EVENTS_OF_OUTLINED;
}

/** Whether the row of the stream should go, or what is on its way to one: ended streams would fill the table. */
export function isRowToGo(need: SnapshotNeed, isOnItsWay: boolean): boolean {
  return need.isEnded && !isLongEnough(need) && (isOnItsWay || need.savedRevision >= 0);
}

/** A state as it is stored. */
export interface PackedState {
  /** JSON. */
  readonly facts: string;
  readonly bytes: Uint8Array;
}

export const packState = ({ facts, bytes = new Uint8Array() }: EncodedState): PackedState => ({
  facts: JSON.stringify(facts),
  bytes,
});

/** Throws where the facts are not JSON. */
export const unpackState = ({ facts, bytes }: PackedState): EncodedState => ({
  facts: JSON.parse(facts),
  ...(bytes.length > 0 && { bytes }),
});
