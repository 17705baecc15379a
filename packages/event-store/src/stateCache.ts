/**
 * Folded states within a limit of bytes. The first to leave are those of ended streams, which hardly anybody asks for
 * again; then the least recently used, but a small state is passed over once or twice. The return of any state costs a
 * row and a tail: for each byte freed, a small one costs several times as much as a large one.
 *
 * Of states that leave, outlines stay where their type has them. How much room those may take follows from what is asked
 * for: states that have just left, or outlines from long ago.
 */
import assert from 'node:assert/strict';
import { LRUCache } from 'lru-cache';
import { createOutlines, type KeptOutline, outlineOf } from './stateOutlines.ts';
import type { StreamState } from './streamState.ts';

export interface StateCacheOptions {
  /** May be a fraction: threads share what there is. */
  readonly maximumBytes: number;
  /** Told of each state that had to leave, and not of those dropped. */
  readonly onEvicted: (state: StreamState, isOutlined: boolean) => void;
}

const MOST_SHARE_OF_OUTLINES = 7 / 8;
const LEAST_SHARE_OF_OUTLINES = 1 / 8;
/** The share follows within seconds of a busy night, and not each turn of one. */
const SHARE_PER_HIT = 1 / 4_096;

/** The most states passed over to make room for one: the event loop is not held up. */
const MOST_PASSED_OVER = 8;

export function createStateCache({ maximumBytes, onEvicted }: StateCacheOptions) {
  // Its own bound is reached only by a state that is too large by itself: room is made before.
  const states = new LRUCache<string, StreamState>({
    maxSize: Math.floor(maximumBytes),
    sizeCalculation: ({ bytes }) => bytes,
  });
  let shareOfOutlines = MOST_SHARE_OF_OUTLINES;
  const outlines = createOutlines(() => Math.floor(maximumBytes * shareOfOutlines));
  /** In the order in which they ended. */
  const ended = new Set<string>();

  function makeRoomFor(bytes: number): void {
    while (states.calculatedSize + outlines.bytes + bytes > maximumBytes) {
      if (states.size > 0) evictOne();
      else outlines.removeAny();
    }
  }

  function evictOne(): void {
    const [oldestEnded] = ended;
    const state = oldestEnded === undefined ? leastWanted() : states.peek(oldestEnded);
    assert(state);
    removeState(state.stream);
    const outlined = oldestEnded === undefined ? outlineOf(state) : undefined;
    onEvicted(state, outlined !== undefined && outlines.add(outlined));
  }

  /** Out of the cache. */
  function leastWanted(): StreamState | undefined {
    for (let passed = 0; ; passed++) {
      const leastRecent = states.pop();
      if (!leastRecent || leastRecent.record.passes === 0 || passed === MOST_PASSED_OVER) return leastRecent;
      leastRecent.record.passes -= 1;
      // Makes it the most recently used.
      states.set(leastRecent.stream, leastRecent);
    }
  }

  /** What has just left would still be here if states had all the room; what left long ago is found because outlines have theirs. */
  function learnFrom({ number }: KeptOutline): void {
    const statesInAllTheRoom = (states.size / states.calculatedSize) * maximumBytes;
    const hasJustLeft = outlines.added - number <= statesInAllTheRoom;
    const share = shareOfOutlines + (hasJustLeft ? -SHARE_PER_HIT : SHARE_PER_HIT);
    shareOfOutlines = Math.min(Math.max(share, LEAST_SHARE_OF_OUTLINES), MOST_SHARE_OF_OUTLINES);
  }

  function removeState(stream: string): void {
    states.delete(stream);
    ended.delete(stream);
  }

  function remove(stream: string): void {
    removeState(stream);
    outlines.remove(stream);
  }

  return {
    get(stream: string): StreamState | undefined {
      const state = states.get(stream);
      if (state) state.record.passes = passesOf(state);
      return state;
    },

    set(state: StreamState): void {
      const { stream, bytes, type } = state;
      if (bytes > maximumBytes) {
        remove(stream);
        onEvicted(state, false);
        return;
      }
      ended.delete(stream);
      outlines.remove(stream);
      const growsBy = bytes - (states.peek(stream)?.bytes ?? 0);
      // In the place of the one before it, if it fits there: a key that is deleted and set anew wears out the cache's map.
      if (states.calculatedSize + outlines.bytes + growsBy > maximumBytes) {
        states.delete(stream);
        makeRoomFor(bytes);
      }
      state.record.passes = passesOf(state);
      states.set(stream, state);
      if (type.isEnded?.(state.state)) ended.add(stream);
    },

    /** Stays until there is a state again. */
    outlineOf(stream: string): KeptOutline | undefined {
      const found = outlines.find(stream);
      if (found) learnFrom(found);
      return found;
    },
    /** From an outline. */
    stateOf: outlines.stateOf,
    remove,
    clear(): void {
      states.clear();
      ended.clear();
      outlines.clear();
    },
    states: () => states.values(),
    get bytes() {
      return states.calculatedSize + outlines.bytes;
    },
    get count() {
      return states.size;
    },
    get outlines() {
      return outlines.count;
    },
  };
}

/** A return costs about as much as 30 KiB of state, and its bytes; from an outline, next to nothing. */
function passesOf({ bytes, type }: StreamState): number {
  if (type.outlines) return 0;
  if (bytes <= 4 * 1024) return 2;
  return bytes <= 16 * 1024 ? 1 : 0;
}
