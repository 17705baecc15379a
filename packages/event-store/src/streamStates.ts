/**
 * The states of streams as this process has folded them: the most recently used are cached, brought up to date from the
 * log, and now and then saved as snapshots, which make a long stream quick to fold again.
 */
import { createBatchingLookup, fold } from '@coffer/kernel';
import { LRUCache } from 'lru-cache';
import type { EventStore } from './port.ts';
import { isSnapshotDue, SNAPSHOT_MIN_EVENTS, type SnapshotStore } from './snapshots.ts';
import type { Lane } from './works.ts';

/** The state folded up to an event. */
export interface StreamState {
  readonly state: unknown;
  /** Revision of the last event folded; -1 when the stream has none. */
  readonly revision: number;
  /** Id of that event, by which a rewritten stream is detected. */
  readonly lastEventId: string | undefined;
  readonly bytes: number;
}

/** Whose state: a stream and its type. */
type Folded = Pick<Lane, 'type' | 'stream'>;

export interface StreamStates {
  /** May be older than the log. */
  remembered(stream: string): StreamState | undefined;
  /** As the log is now, starting from the given state if the log still holds it. */
  read(of: Folded, known?: StreamState): Promise<StreamState>;
  isCurrent(of: Folded, known: StreamState): Promise<boolean>;
  /** Caches the state after an append of this process. Saves a snapshot in the background when one is due. */
  keep(of: Folded, state: StreamState): void;
  drop(stream: string): void;
  /** One rewritten stream means a rewritten log: no other cached state may answer a replay. */
  forget(): void;
  readonly bytes: number;
  readonly count: number;
}

export interface StreamStatesOptions {
  readonly store: Pick<EventStore, 'readStream' | 'heads'>;
  /** A session of 10,000 bets is as large as a thousand short ones, so the bound is in bytes, not entries. */
  readonly cacheBytes: number;
  readonly snapshots: SnapshotStore | undefined;
  readonly onSnapshotError: ((error: unknown) => void) | undefined;
}

const MAX_HEADS_PER_QUESTION = 256;

export function createStreamStates(options: StreamStatesOptions): StreamStates {
  const { store, snapshots, cacheBytes, onSnapshotError } = options;
  const cache = new LRUCache<string, StreamState>({
    maxSize: cacheBytes,
    sizeCalculation: ({ bytes }) => bytes,
  });
  const lastSnapshots = new Map<string, number>();
  const headOf = createBatchingLookup({
    findAll: (streams: readonly string[]) => store.heads(streams),
    maximumKeys: MAX_HEADS_PER_QUESTION,
  });

  return {
    remembered: (stream) => cache.get(stream),

    async read(of, known) {
      if (known && known.revision >= 0) {
        const folded = await foldFrom(of, known);
        if (folded) return folded;
        forget();
      }
      return coldFold(of);
    },

    async isCurrent({ stream }, { revision, lastEventId }) {
      const head = await headOf(stream);
      return (head?.revision ?? -1) === revision && head?.eventId === lastEventId;
    },

    keep(of, state) {
      cache.set(of.stream, state);
      saveSnapshotWhenDue(of, state);
    },

    drop: (stream) => void cache.delete(stream),
    forget,
    get bytes() {
      return cache.calculatedSize;
    },
    get count() {
      return cache.size;
    },
  };

  function forget(): void {
    cache.clear();
    lastSnapshots.clear();
  }

  async function coldFold(of: Folded): Promise<StreamState> {
    let state = of.type.initialState;
    let revision = -1;
    let lastEventId: string | undefined;
    let mayHaveSnapshot = snapshots !== undefined && of.type.snapshot !== undefined;
    for await (const page of store.readStream(of.stream)) {
      state = fold(of.type, state, page);
      revision += page.length;
      lastEventId = page.at(-1)?.id;
      // Only a long stream is worth the query.
      if (mayHaveSnapshot && revision + 1 >= SNAPSHOT_MIN_EVENTS / 2) {
        mayHaveSnapshot = false;
        const folded = await foldFromSnapshot(of, revision);
        if (folded) return folded;
      }
    }
    return remember(of, stateOf(of, state, revision, lastEventId));
  }

  async function foldFromSnapshot(of: Folded, foldedTo: number): Promise<StreamState | undefined> {
    const snapshot = await snapshots?.load(of.stream, of.type.version);
    if (!snapshot || snapshot.revision <= foldedTo || !of.type.snapshot) return undefined;
    lastSnapshots.set(of.stream, snapshot.revision);
    const { revision, eventId } = snapshot;
    return foldFrom(of, stateOf(of, of.type.snapshot.decode(snapshot.state), revision, eventId));
  }

  /** Undefined when the stream no longer holds the last event folded: it was rewritten. */
  async function foldFrom(of: Folded, known: StreamState): Promise<StreamState | undefined> {
    let { state, revision, lastEventId } = known;
    let isFirst = true;
    for await (const page of store.readStream(of.stream, { fromRevision: known.revision })) {
      if (isFirst && page[0]?.id !== known.lastEventId) return undefined;
      const unseen = isFirst ? page.slice(1) : page;
      isFirst = false;
      state = fold(of.type, state, unseen);
      revision += unseen.length;
      lastEventId = unseen.at(-1)?.id ?? lastEventId;
    }
    return isFirst ? undefined : remember(of, stateOf(of, state, revision, lastEventId));
  }

  function remember({ stream }: Folded, state: StreamState): StreamState {
    // Streams that do not exist are not cached: callers can invent any number of ids.
    if (state.revision >= 0) cache.set(stream, state);
    return state;
  }

  function saveSnapshotWhenDue({ stream, type }: Folded, folded: StreamState): void {
    const { snapshot, version } = type;
    const { state, revision, lastEventId: eventId } = folded;
    if (!snapshots || !snapshot || eventId === undefined || revision < SNAPSHOT_MIN_EVENTS) return;
    if (!isSnapshotDue(revision, lastSnapshots.get(stream) ?? 0)) return;
    lastSnapshots.set(stream, revision);
    // Encoding happens inside: a state that cannot be encoded is reported like one that cannot be saved.
    const save = async () =>
      snapshots.save(stream, version, { revision, eventId, state: snapshot.encode(state) });
    save().catch((error: unknown) => onSnapshotError?.(error));
  }
}

/** The state of a stream at a revision, with its size in memory. */
export function stateOf(
  { type, stream }: Folded,
  state: unknown,
  revision: number,
  lastEventId: string | undefined,
): StreamState {
  return { state, revision, lastEventId, bytes: type.sizeOf(state) + stream.length };
}
