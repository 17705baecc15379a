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
    load: async (places, restore) =>
      places.map((place) => {
        const found = kept.get(place.stream);
        if (found?.deciderVersion !== place.deciderVersion) return undefined;
        const { revision, eventId } = found;
        const state = structuredClone(found.state);
        const restored = restore(place, { revision, eventId, state });
        // As a store does that uses the memory again.
        state.bytes?.fill(0xff);
        return restored;
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
