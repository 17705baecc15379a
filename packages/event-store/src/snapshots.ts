/**
 * Snapshots spare a cold fold of a long stream. They are disposable: the log is the truth, a snapshot is
 * used only while the log still holds the very event it was taken at, and all of them may be deleted.
 */

export interface Snapshot {
  readonly revision: number;
  /** Id of the event at that revision. */
  readonly eventId: string;
  /** As the stream type's `snapshot.encode` gave it. */
  readonly state: unknown;
}

export interface SnapshotStore {
  /** The newest snapshot of this decider version. */
  load(stream: string, deciderVersion: number): Promise<Snapshot | undefined>;
  save(stream: string, deciderVersion: number, snapshot: Snapshot): Promise<void>;
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
