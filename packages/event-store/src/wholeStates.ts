/**
 * Whole states, as the log is now: from a snapshot and the tail behind it, or by a fold of the whole stream. Those that are
 * needed at the same time are read together.
 */
import { createBatchingLookup } from '@coffer/kernel';
import { createFolds, type Folded } from './folds.ts';
import type { EventStore } from './port.ts';
import type { Snapshot, SnapshotStore } from './snapshots.ts';
import type { StreamReturn } from './stateStats.ts';
import { type StreamState, stateOf } from './streamState.ts';

export interface WholeStatesOptions {
  readonly store: Pick<EventStore, 'readStream' | 'readTails'>;
  /** Undefined: every state is folded. */
  readonly snapshots: SnapshotStore | undefined;
  readonly onSnapshotError: (error: unknown) => void;
}

export interface WholeState extends Pick<StreamReturn, 'source'> {
  readonly state: StreamState;
}

export type WholeStates = ReturnType<typeof createWholeStates>;

const MAX_SNAPSHOTS_PER_QUESTION = 128;
/** Of the states in one question, as far as the size of the last ones tells. */
const MAX_BYTES_PER_QUESTION = 4 * 1024 * 1024;

export function createWholeStates({ store, snapshots, onSnapshotError }: WholeStatesOptions) {
  const { foldFrom, foldAll } = createFolds(store);
  let meanBytes = 0;
  const restoredOf = createBatchingLookup<Folded, StreamState | undefined>({
    findAll: restoreAll,
    maximumKeys: () =>
      Math.max(1, Math.min(MAX_SNAPSHOTS_PER_QUESTION, Math.floor(MAX_BYTES_PER_QUESTION / meanBytes))),
  });

  return {
    foldFrom,

    async wholeOf(of: Folded): Promise<WholeState> {
      const restored = of.type.snapshot && (await restoredOf(of));
      const returned = restored && (await foldFrom(restored));
      if (returned) return { state: returned, source: 'snapshot' };
      return { state: await foldAll(of), source: 'fold' };
    },

    /** Of the last ones that came from snapshots. */
    meanBytes: () => meanBytes,
  };

  async function restoreAll(all: readonly Folded[]): Promise<readonly (StreamState | undefined)[]> {
    const restored = (await loadAll(all)) ?? all.map(() => undefined);
    const sizes = restored.flatMap((state) => state?.bytes ?? []);
    meanBytes = sizes.reduce((sum, bytes) => sum + bytes, 0) / sizes.length || 0;
    return restored;
  }

  /** Undefined without an answer: then each is folded, which only takes longer. */
  async function loadAll(all: readonly Folded[]) {
    try {
      return await snapshots?.load(all.map(placeOf), ({ of }, snapshot) => restore(of, snapshot));
    } catch (error) {
      onSnapshotError(error);
      return undefined;
    }
  }

  /** Undefined for a snapshot that cannot be decoded. */
  function restore(of: Folded, { state, revision, eventId }: Snapshot): StreamState | undefined {
    try {
      const record = { savedRevision: revision, passes: 0 };
      return stateOf({ ...of, record }, of.type.snapshot?.decode(state), revision, eventId);
    } catch (error) {
      onSnapshotError(error);
      return undefined;
    }
  }
}

const placeOf = (of: Folded) => ({ stream: of.stream, deciderVersion: of.type.version, of });
