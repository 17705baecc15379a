/** What is left of states that had to leave the cache: enough for most decisions, in a fraction of the room. */

import type { Outline } from '@coffer/kernel';
import { LRUCache } from 'lru-cache';
import { type StreamState, stateOf } from './streamState.ts';

export interface OutlinedState extends Omit<StreamState, 'state'> {
  readonly outline: Outline;
}

/** Of the objects that hold an outline, with its place among the others and the id of an event; measured. */
const BYTES_OF_PLACE = 400;

/** Undefined of a state that has none, or of which it would save too little. */
export function outlineOf({ state, ...rest }: StreamState): OutlinedState | undefined {
  const outline = rest.type.outlines?.of(state);
  if (!outline) return undefined;
  const { facts, marks } = outline;
  const bytes =
    BYTES_OF_PLACE + rest.stream.length + facts.length + marks.length * Uint16Array.BYTES_PER_ELEMENT;
  return bytes <= rest.bytes / 2 ? { ...rest, outline, bytes } : undefined;
}

/** Deciding on it may throw `WholeStateNeeded`. */
export function stateIn({ outline, ...rest }: OutlinedState): StreamState {
  return stateOf(rest, rest.type.outlines?.restore(outline), rest.revision, rest.lastEventId);
}

export const isWhole = ({ type, state }: Pick<StreamState, 'type' | 'state'>): boolean =>
  type.outlines?.isWhole(state) ?? true;

/** What is offered where there is no room takes that of the least recently used one so often. */
const OFFERS_PER_REPLACEMENT = 8;

/**
 * Within a limit of bytes. Where all streams are used in turn, those that are needed next are the ones not used for
 * longest: if each new outline replaced one of them, none would be found. So most of the new ones are not kept.
 */
export function createOutlines(maximumBytes: number) {
  const outlines = new LRUCache<string, OutlinedState>({
    maxSize: maximumBytes,
    sizeCalculation: ({ bytes }) => bytes,
  });
  let offersWithoutRoom = 0;

  return {
    find: (stream: string): OutlinedState | undefined => outlines.get(stream),
    /** Whether it is kept. */
    offer(outlined: OutlinedState): boolean {
      if (outlines.calculatedSize + outlined.bytes > maximumBytes) {
        offersWithoutRoom += 1;
        if (offersWithoutRoom % OFFERS_PER_REPLACEMENT !== 0) return false;
      }
      outlines.set(outlined.stream, outlined);
      return true;
    },
    remove(stream: string): void {
      outlines.delete(stream);
    },
    removeOldest(): void {
      outlines.pop();
    },
    clear(): void {
      outlines.clear();
    },
    get bytes() {
      return outlines.calculatedSize;
    },
    get count() {
      return outlines.size;
    },
  };
}
