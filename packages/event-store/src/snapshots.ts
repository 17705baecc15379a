/**
 * Snapshots spare a cold fold of a long stream. They are disposable: the log is the truth. A snapshot is used only if the
 * service wrote it and the log still holds the very event at which it was taken; all of them may be deleted.
 */

export interface Snapshot {
  readonly revision: number;
  /** Id of the event at that revision. */
  readonly eventId: string;
  /** The output of the stream type's `snapshot.encode`. */
  readonly state: unknown;
}

export interface SnapshotStore {
  /** The newest snapshot of this decider version; undefined also for one that the service did not write. */
  load(stream: string, deciderVersion: number): Promise<Snapshot | undefined>;
  save(stream: string, deciderVersion: number, snapshot: Snapshot): Promise<void>;
}

/** The key of a snapshot. */
export interface SnapshotPlace {
  readonly stream: string;
  readonly deciderVersion: number;
}

/** Snapshots as stored, whoever wrote them: for a verification, which compares them with the fold. */
export interface KeptSnapshots {
  readonly placesAmong: (streams: readonly string[]) => Promise<readonly SnapshotPlace[]>;
  readonly read: (place: SnapshotPlace) => Promise<(Omit<Snapshot, 'state'> & KeptState) | undefined>;
}

interface KeptState {
  /** The JSON of the state. */
  readonly text: string;
  /** False if the service did not write it; it is then not used. */
  readonly isAuthentic: boolean;
}

/** Shorter streams have no snapshot. */
export const SNAPSHOT_MIN_EVENTS = 2_000;

/**
 * The first at 2,000 events, then whenever the stream has grown by half: a snapshot costs as much as the state is large,
 * so a fixed interval would make the cost of a long stream quadratic.
 */
export function isSnapshotDue(revision: number, lastSnapshotRevision: number): boolean {
  return revision - lastSnapshotRevision >= Math.max(SNAPSHOT_MIN_EVENTS, lastSnapshotRevision / 2);
}
