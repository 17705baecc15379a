/**
 * Folded states within a limit of bytes. The first to leave are those of ended streams, which hardly anybody asks for
 * again; then the least recently used, but a small state is passed over once or twice. The return of any state costs a
 * row and a tail: for each byte freed, a small one costs several times as much as a large one.
 */
import assert from 'node:assert/strict';
import { LRUCache } from 'lru-cache';
import type { StreamState } from './streamState.ts';

export interface StateCacheOptions {
  readonly maximumBytes: number;
  /** Told of each state that had to leave, and not of those dropped. */
  readonly onEvicted: (state: StreamState) => void;
}

/** The most states passed over to make room for one: the event loop is not held up. */
const MOST_PASSED_OVER = 8;

export function createStateCache({ maximumBytes, onEvicted }: StateCacheOptions) {
  // Its own bound is reached only by a state that is too large by itself: room is made before.
  const states = new LRUCache<string, StreamState>({
    maxSize: maximumBytes,
    sizeCalculation: ({ bytes }) => bytes,
  });
  /** In the order in which they ended. */
  const ended = new Set<string>();

  function evictOne(): void {
    const [oldestEnded] = ended;
    const state = oldestEnded === undefined ? leastWanted() : states.peek(oldestEnded);
    assert(state);
    remove(state.stream);
    onEvicted(state);
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

  function remove(stream: string): void {
    states.delete(stream);
    ended.delete(stream);
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
        onEvicted(state);
        return;
      }
      ended.delete(stream);
      const growsBy = bytes - (states.peek(stream)?.bytes ?? 0);
      // In the place of the one before it, if it fits there: a key that is deleted and set anew wears out the cache's map.
      if (states.calculatedSize + growsBy > maximumBytes) {
        states.delete(stream);
        while (states.calculatedSize + bytes > maximumBytes) evictOne();
      }
      state.record.passes = passesOf(state);
      states.set(stream, state);
      if (type.isEnded?.(state.state)) ended.add(stream);
    },

    remove,
    clear(): void {
      states.clear();
      ended.clear();
    },
    states: () => states.values(),
    get bytes() {
      return states.calculatedSize;
    },
    get count() {
      return states.size;
    },
  };
}

/** A return costs about as much as 30 KiB of state, and its bytes. */
function passesOf({ bytes }: StreamState): number {
  if (bytes <= 4 * 1024) return 2;
  return bytes <= 16 * 1024 ? 1 : 0;
}
