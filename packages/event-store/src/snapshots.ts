/**
 * Snapshots spare a cold fold of a long stream. They are disposable: the log is the truth, a snapshot is
 * used only while the log still holds the very event it was taken at and where the service wrote it, and all of
 * them may be deleted.
 */

export interface Snapshot {
  readonly revision: number;
  /** Id of the event at that revision. */
  readonly eventId: string;
  /** As the stream type's `snapshot.encode` gave it. */
  readonly state: unknown;
}

export interface SnapshotStore {
  /** The newest snapshot of this decider version; undefined as well for one that the service did not write. */
  load(stream: string, deciderVersion: number): Promise<Snapshot | undefined>;
  save(stream: string, deciderVersion: number, snapshot: Snapshot): Promise<void>;
}

/** Which snapshot: there is one of each. */
export interface SnapshotPlace {
  readonly stream: string;
  readonly deciderVersion: number;
}

/** Snapshots as they are kept, whoever wrote them: for a verification, which compares them with the fold. */
export interface KeptSnapshots {
  readonly placesAmong: (streams: readonly string[]) => Promise<readonly SnapshotPlace[]>;
  readonly read: (place: SnapshotPlace) => Promise<(Omit<Snapshot, 'state'> & KeptState) | undefined>;
}

interface KeptState {
  /** The JSON of the state. */
  readonly text: string;
  /** False for one that the service did not write: it is not used. */
  readonly isAuthentic: boolean;
}

/** No stream shorter than this has a snapshot. */
export const SNAPSHOT_MIN_EVENTS = 2_000;

/**
 * The first at 2,000 events, then whenever half as many again have come: taking one costs as much as the
 * state is large, so a fixed distance would make the cost of a long stream grow with its square.
 */
export function isSnapshotDue(revision: number, lastSnapshotRevision: number): boolean {
  return revision - lastSnapshotRevision >= Math.max(SNAPSHOT_MIN_EVENTS, lastSnapshotRevision / 2);
}
