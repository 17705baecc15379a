/** Snapshots in memory, for specs. */
import { type PlacedSnapshot, packState, type SnapshotStore, unpackState } from '../snapshots.ts';

export interface MemorySnapshotStore extends SnapshotStore {
  /** By stream. */
  readonly kept: Map<string, PlacedSnapshot>;
}

export function createMemorySnapshotStore(): MemorySnapshotStore {
  const kept = new Map<string, PlacedSnapshot>();
  return {
    kept,
    load: async (places) =>
      places.map(({ stream, deciderVersion }) => {
        const found = kept.get(stream);
        if (found?.deciderVersion !== deciderVersion) return undefined;
        const { revision, eventId, state } = found;
        return { revision, eventId, state };
      }),
    async save(snapshots) {
      for (const snapshot of snapshots) {
        kept.set(snapshot.stream, { ...snapshot, state: unpackState(packState(snapshot.state)) });
      }
    },
    async remove(streams) {
      for (const stream of streams) kept.delete(stream);
    },
  };
}
