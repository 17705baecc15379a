/**
 * The states of streams as this process has folded them: cached, brought up to date from the log, and saved as snapshots
 * when they leave the cache, so that their return costs a row and a short tail instead of a fold of the whole stream.
 */
import { createBatchingLookup, WholeStateNeeded } from '@coffer/kernel';
import type { Folded } from './folds.ts';
import type { EventStore } from './port.ts';
import { createSnapshotQueue } from './snapshotQueue.ts';
import {
  hasGrownByHalf,
  hasLongTail,
  isRowToGo,
  isWorthSaving,
  type SnapshotNeed,
  type SnapshotStore,
} from './snapshots.ts';
import { createStateCache } from './stateCache.ts';
import { isWhole } from './stateOutlines.ts';
import { createStateSaves } from './stateSaves.ts';
import type { StatesStats, StreamReturn } from './stateStats.ts';
import type { StreamState } from './streamState.ts';
import { createWholeStates } from './wholeStates.ts';

export interface StreamStates {
  /** May be older than the log, and from an outline. */
  remembered(stream: string): StreamState | undefined;
  /** As the log is now, starting from the given state if the log still holds it. Without one, it is whole. */
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
    onEvicted(state, isOutlined) {
      evictions += 1;
      if (!state.type.snapshot) return;
      const isToSave = isOutlined || !isWhole(state) ? hasLongTail : isWorthSaving;
      if (isToSave(needOf(state))) saves?.save(state);
    },
  });
  const wholes = createWholeStates(options);
  const saves = queue && createStateSaves({ queue, wholes, onSnapshotError });
  let hits = 0;
  let outlineHits = 0;
  let evictions = 0;
  const headOf = createBatchingLookup({
    findAll: (streams: readonly string[]) => store.heads(streams),
    maximumKeys: MAX_HEADS_PER_QUESTION,
  });

  return {
    remembered(stream) {
      const cached = cache.get(stream);
      if (cached) {
        hits += 1;
        return cached;
      }
      const queued = queue?.find(stream);
      const outlined = cache.outlineOf(stream);
      if (queued && queued.revision >= (outlined?.revision ?? -1)) {
        queue?.forgetWaiting(stream);
        cache.set(queued);
        onReturn({ source: 'queue', seconds: 0, foldedEvents: 0 });
        return queued;
      }
      if (!outlined) return undefined;
      outlineHits += 1;
      return cache.stateOf(outlined);
    },

    async read(of, known) {
      if (known && known.revision >= 0) {
        const state = await foldFromOrAnew(known);
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
      saves?.cancel(stream);
    },
    forget,

    async save(withinMs) {
      saves?.cancelAll();
      const worth = [...cache.states()].filter(
        (state) => state.type.snapshot && isWhole(state) && isWorthSaving(needOf(state)),
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
      outlinedStreams: cache.outlines,
      hits,
      outlineHits,
      evictions,
      snapshotsWaiting: (saves?.reading ?? 0) + (queue?.waiting ?? 0),
      snapshotsWritten: queue?.written ?? 0,
      snapshotsDropped: queue?.dropped ?? 0,
    }),
  };

  function forget(): void {
    cache.clear();
    queue?.clear();
    saves?.cancelAll();
  }

  function remember(state: StreamState): StreamState {
    // Streams that do not exist are not cached: callers can invent any number of ids.
    if (state.revision < 0) return state;
    cache.set(state);
    if (!queue || !saves || !state.type.snapshot) return state;
    const need = needOf(state);
    const isOnItsWay = saves.isOnItsWay(state.stream);
    if (isRowToGo(need, isOnItsWay)) {
      saves.cancel(state.stream);
      queue.removeRow(state);
    } else if (!isOnItsWay && hasGrownByHalf(need)) saves.save(state);
    return state;
  }

  /** Undefined when the stream no longer holds the last event folded. */
  async function foldFromOrAnew(known: StreamState): Promise<StreamState | undefined> {
    try {
      return await wholes.foldFrom(known);
    } catch (error) {
      if (error instanceof WholeStateNeeded) return coldFold(known);
      throw error;
    }
  }

  async function coldFold(of: Folded): Promise<StreamState> {
    const startedAt = performance.now();
    const { state, source } = await wholes.wholeOf(of);
    if (state.revision >= 0) {
      onReturn({
        source,
        seconds: (performance.now() - startedAt) / 1000,
        foldedEvents: state.revision - (source === 'snapshot' ? state.record.savedRevision : -1),
      });
    }
    return state;
  }
}

const needOf = ({ stream, type, state, revision, bytes, record }: StreamState): SnapshotNeed => ({
  stream,
  revision,
  bytes,
  savedRevision: record.savedRevision,
  isEnded: type.isEnded?.(state) ?? false,
});
