/**
 * States on their way to the snapshot store, written in batches behind the commands that changed them. The queue is
 * bounded: what finds no room is not kept, and folded again one day.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createSnapshotRests, type SnapshotRestsOptions } from './snapshotRests.ts';
import type { PlacedSnapshot, SnapshotStore } from './snapshots.ts';
import type { StreamState } from './streamState.ts';
import { inTurns } from './turns.ts';

export type SnapshotQueue = ReturnType<typeof createSnapshotQueue>;

export interface SnapshotQueueOptions extends SnapshotRestsOptions {
  readonly store: SnapshotStore;
  readonly onError: (error: unknown) => void;
}

/** One statement carries so much, apart from a single state that is larger. */
const BATCH_BYTES = 512 * 1024;
const BATCH_STATES = 128;

export function createSnapshotQueue({ store, maximumBytes, onError, ...ofRests }: SnapshotQueueOptions) {
  const rests = createSnapshotRests({ maximumBytes, ...ofRests });
  /** The newest state of each stream, oldest stream first. */
  let waiting = new Map<string, StreamState>();
  /** In the statement under way. */
  let writing = new Map<string, StreamState>();
  let toRemove = new Map<string, StreamState>();
  let waitingBytes = 0;
  let writingBytes = 0;
  let written = 0;
  let dropped = 0;
  let working: Promise<void> | undefined;

  function work(): void {
    working ??= writeAll().finally(() => {
      working = undefined;
      if (waiting.size + toRemove.size > 0) work();
    });
  }

  async function idle(): Promise<void> {
    while (working) await working;
  }

  async function writeAll(): Promise<void> {
    // What else leaves the cache in this turn comes along.
    await nextTurn();
    while (waiting.size + toRemove.size > 0) {
      try {
        const startedMs = rests.nowMs();
        await removeRows();
        await writeBatch();
        if (waiting.size > 0) await rests.afterWriting(rests.nowMs() - startedMs, waitingBytes);
      } catch (error) {
        onError(error);
        await rests.afterFailure();
      }
    }
  }

  async function removeRows(): Promise<void> {
    if (toRemove.size === 0) return;
    const removed = toRemove;
    toRemove = new Map();
    await store.remove([...removed.keys()]);
    for (const { record } of removed.values()) record.savedRevision = -1;
  }

  async function writeBatch(): Promise<void> {
    writing = takeBatch();
    if (writing.size === 0) return;
    let encoded: ReadonlyMap<StreamState, PlacedSnapshot> = new Map();
    try {
      encoded = await encodeInTurns([...writing.values()], (error) => {
        dropped += 1;
        onError(error);
      });
      if (encoded.size > 0) await store.save([...encoded.values()]);
      for (const { record, revision } of encoded.keys()) record.savedRevision = revision;
      written += encoded.size;
    } catch (error) {
      dropped += encoded.size;
      throw error;
    } finally {
      writing = new Map();
      writingBytes = 0;
    }
  }

  function takeBatch(): Map<string, StreamState> {
    const batch = new Map<string, StreamState>();
    for (const [stream, state] of waiting) {
      if (batch.size > 0 && writingBytes + state.bytes > BATCH_BYTES) break;
      batch.set(stream, state);
      writingBytes += state.bytes;
      forgetWaiting(stream);
      if (batch.size === BATCH_STATES) break;
    }
    return batch;
  }

  function forgetWaiting(stream: string): void {
    waitingBytes -= waiting.get(stream)?.bytes ?? 0;
    waiting.delete(stream);
  }

  /** Beside what is here, and so many more bytes that are to come. */
  const hasRoomFor = (bytes: number, toCome: number): boolean =>
    waitingBytes + writingBytes + toCome <= Math.max(0, maximumBytes - bytes);

  function add(state: StreamState): void {
    forgetWaiting(state.stream);
    waiting.set(state.stream, state);
    waitingBytes += state.bytes;
    rests.sawWaiting(waitingBytes);
    work();
  }

  return {
    /** A state that is not in the database yet. */
    find: (stream: string): StreamState | undefined => waiting.get(stream) ?? writing.get(stream),

    /** Drops the state where there is no room; one always has room, however large. */
    offer(state: StreamState): void {
      if (hasRoomFor(state.bytes, -(waiting.get(state.stream)?.bytes ?? 0))) add(state);
      else dropped += 1;
    },

    hasRoomFor,

    /** It is in the cache again, which offers it once more if it leaves. */
    forgetWaiting,

    removeRow(state: StreamState): void {
      forgetWaiting(state.stream);
      toRemove.set(state.stream, state);
      work();
    },

    /** Nothing found here is of this log any longer. */
    clear(): void {
      waiting = new Map();
      writing = new Map();
      waitingBytes = 0;
    },

    /** Writes these states as well, whatever room there is, until all are written or time is up. */
    async finish(states: readonly StreamState[], withinMs: number): Promise<void> {
      for (const state of states) add(state);
      rests.end();
      await orLate(idle(), withinMs);
      dropped += waiting.size;
      waiting = new Map();
      waitingBytes = 0;
    },

    get bytes() {
      return waitingBytes + writingBytes;
    },
    get waiting() {
      return waiting.size + writing.size + toRemove.size;
    },
    get written() {
      return written;
    },
    get dropped() {
      return dropped;
    },
  };
}

async function orLate(work: Promise<void>, withinMs: number): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, withinMs);
  await Promise.race([work, late]);
  clearTimeout(timer);
}

/** One that cannot be encoded is left out; it is tried again when its stream has grown. */
async function encodeInTurns(
  states: readonly StreamState[],
  onError: (error: unknown) => void,
): Promise<ReadonlyMap<StreamState, PlacedSnapshot>> {
  const encoded = new Map<StreamState, PlacedSnapshot>();
  const endTurn = inTurns();
  for (const folded of states) {
    const { stream, type, state, revision, lastEventId: eventId, record } = folded;
    const { version: deciderVersion, snapshot } = type;
    try {
      if (snapshot && eventId !== undefined) {
        encoded.set(folded, { stream, deciderVersion, revision, eventId, state: snapshot.encode(state) });
      }
    } catch (error) {
      record.savedRevision = revision;
      onError(error);
    }
    await endTurn();
  }
  return encoded;
}
