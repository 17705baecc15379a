/**
 * The states of streams as this process has folded them: cached, brought up to date from the log, and saved as snapshots
 * when they leave the cache, so that their return costs a row and a short tail instead of a fold of the whole stream.
 */
import { createBatchingLookup } from '@coffer/kernel';
import { createFolds, type Folded } from './folds.ts';
import type { EventStore } from './port.ts';
import { createSnapshotQueue } from './snapshotQueue.ts';
import {
  hasGrownByHalf,
  isRowToGo,
  isWorthSaving,
  type Snapshot,
  type SnapshotNeed,
  type SnapshotStore,
} from './snapshots.ts';
import { createStateCache } from './stateCache.ts';
import type { StatesStats, StreamReturn } from './stateStats.ts';
import { type StreamState, stateOf } from './streamState.ts';

export interface StreamStates {
  /** May be older than the log. */
  remembered(stream: string): StreamState | undefined;
  /** As the log is now, starting from the given state if the log still holds it. */
  read(of: Folded, known?: StreamState): Promise<StreamState>;
  isCurrent(known: StreamState): Promise<boolean>;
  /** Caches the state after an append of this process. */
  keep(state: StreamState): void;
  drop(stream: string): void;
  /** One rewritten stream means a rewritten log: no other cached state may answer a replay. */
  forget(): void;
  /** Before the process ends: saves what would cost most to fold again, as far as time allows. */
  save(withinMs: number): Promise<void>;
  stats(): StatesStats;
}

export interface StreamStatesOptions {
  readonly store: Pick<EventStore, 'readStream' | 'readTails' | 'heads'>;
  /** A session of 10,000 bets is as large as a thousand short ones, so the bound is in bytes, not entries. */
  readonly cacheBytes: number;
  /** Undefined: every state that left the cache is folded anew. */
  readonly snapshots: SnapshotStore | undefined;
  readonly onSnapshotError: (error: unknown) => void;
  readonly onReturn: (met: StreamReturn) => void;
}

const MAX_HEADS_PER_QUESTION = 256;
const MAX_SNAPSHOTS_PER_QUESTION = 128;
/** Of the states in one question, as far as the size of the last ones tells. */
const MAX_BYTES_PER_QUESTION = 4 * 1024 * 1024;
/** The part of the cache for states on their way to a snapshot. */
const QUEUE_SHARE = 1 / 8;

export function createStreamStates(options: StreamStatesOptions): StreamStates {
  const { store, snapshots, cacheBytes, onSnapshotError, onReturn } = options;
  const queueBytes = snapshots ? Math.floor(cacheBytes * QUEUE_SHARE) : 0;
  const queue =
    snapshots &&
    createSnapshotQueue({ store: snapshots, maximumBytes: queueBytes, onError: onSnapshotError });
  const cache = createStateCache({
    maximumBytes: cacheBytes - queueBytes,
    onEvicted(state) {
      evictions += 1;
      if (state.type.snapshot && isWorthSaving(needOf(state))) queue?.offer(state);
    },
  });
  let hits = 0;
  let evictions = 0;
  const headOf = createBatchingLookup({
    findAll: (streams: readonly string[]) => store.heads(streams),
    maximumKeys: MAX_HEADS_PER_QUESTION,
  });
  let meanBytes = 0;
  const restoredOf = createBatchingLookup<Folded, StreamState | undefined>({
    findAll: restoreAll,
    maximumKeys: () =>
      Math.max(1, Math.min(MAX_SNAPSHOTS_PER_QUESTION, Math.floor(MAX_BYTES_PER_QUESTION / meanBytes))),
  });

  const { foldFrom, foldAll } = createFolds(store);

  return {
    remembered(stream) {
      const cached = cache.get(stream);
      if (cached) {
        hits += 1;
        return cached;
      }
      const queued = queue?.find(stream);
      if (!queued) return undefined;
      queue?.forgetWaiting(stream);
      cache.set(queued);
      onReturn({ source: 'queue', seconds: 0, foldedEvents: 0 });
      return queued;
    },

    async read(of, known) {
      if (known && known.revision >= 0) {
        const state = await foldFrom(known);
        if (state) return remember(state);
        forget();
      }
      return remember(await coldFold(of));
    },

    isCurrent: ({ stream, revision, lastEventId }) =>
      headOf(stream).then((head) => (head?.revision ?? -1) === revision && head?.eventId === lastEventId),

    keep: remember,
    drop(stream) {
      cache.remove(stream);
      queue?.forgetWaiting(stream);
    },
    forget,

    async save(withinMs) {
      const worth = [...cache.states()].filter(
        (state) => state.type.snapshot && isWorthSaving(needOf(state)),
      );
      const tailOf = ({ revision, record }: StreamState) => revision - record.savedRevision;
      await queue?.finish(
        worth.sort((one, other) => tailOf(other) - tailOf(one)),
        withinMs,
      );
    },

    stats: () => ({
      cachedBytes: cache.bytes + (queue?.bytes ?? 0),
      cachedStreams: cache.count,
      hits,
      evictions,
      snapshotsWaiting: queue?.waiting ?? 0,
      snapshotsWritten: queue?.written ?? 0,
      snapshotsDropped: queue?.dropped ?? 0,
    }),
  };

  function forget(): void {
    cache.clear();
    queue?.clear();
  }

  function remember(state: StreamState): StreamState {
    // Streams that do not exist are not cached: callers can invent any number of ids.
    if (state.revision < 0) return state;
    cache.set(state);
    if (!queue || !state.type.snapshot) return state;
    const need = needOf(state);
    const isOnItsWay = queue.find(state.stream) !== undefined;
    if (isRowToGo(need, isOnItsWay)) queue.removeRow(state);
    else if (!isOnItsWay && hasGrownByHalf(need)) queue.offer(state);
    return state;
  }

  async function coldFold(of: Folded): Promise<StreamState> {
    const startedAt = performance.now();
    const restored = of.type.snapshot && (await restoredOf(of));
    const returned = restored && (await foldFrom(restored));
    const state = returned ?? (await foldAll(of));
    if (state.revision >= 0) {
      onReturn({
        source: returned ? 'snapshot' : 'fold',
        seconds: (performance.now() - startedAt) / 1000,
        foldedEvents: state.revision - (returned ? returned.record.savedRevision : -1),
      });
    }
    return state;
  }

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

const needOf = ({ type, state, revision, bytes, record }: StreamState): SnapshotNeed => ({
  revision,
  bytes,
  savedRevision: record.savedRevision,
  isEnded: type.isEnded?.(state) ?? false,
});
