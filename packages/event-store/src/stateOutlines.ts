/** What is left of states that had to leave the cache: enough for most decisions, in a fraction of the room. */
import type { Outline } from '@coffer/kernel';
import { bytesInBlocks, createOutlineMemory, type FirstBlock } from './outlineMemory.ts';
import { type StreamState, stateOf } from './streamState.ts';

/** A state of which only the outline is there. */
export interface OutlinedState extends Omit<StreamState, 'state'> {
  readonly outline: Outline;
}

/** Where its outline is kept. */
export interface KeptOutline extends Omit<StreamState, 'state'> {
  readonly first: FirstBlock;
  /** How many had been added before it. */
  readonly number: number;
}

/** Of the objects that hold an outline, with its place among the others and the id of an event; measured. */
const BYTES_OF_PLACE = 300;

/** Undefined of a state that has none, or of which it would save too little. */
export function outlineOf({ state, ...rest }: StreamState): OutlinedState | undefined {
  const outline = rest.type.outlines?.of(state);
  if (!outline) return undefined;
  const bytes = BYTES_OF_PLACE + rest.stream.length + bytesInBlocks(outline);
  return bytes <= rest.bytes / 2 ? { ...rest, outline, bytes } : undefined;
}

export const isWhole = ({ type, state }: Pick<StreamState, 'type' | 'state'>): boolean =>
  type.outlines?.isWhole(state) ?? true;

/**
 * Within a limit of bytes, which may change; where there is no room, any of them leaves. The least recently used would be the wrong one
 * where all streams are used in turn, since that is needed next: none would be found. Those that rest leave in the end.
 */
export function createOutlines(maximumBytes: () => number, memory = createOutlineMemory()) {
  const places = new Map<string, number>();
  const kept: KeptOutline[] = [];
  let bytes = 0;
  let added = 0;

  /** The last one takes its place. */
  function removeAt(place: number): void {
    const removed = kept[place];
    const last = kept.at(-1);
    if (!removed || !last) return;
    kept[place] = last;
    places.set(last.stream, place);
    kept.pop();
    places.delete(removed.stream);
    memory.release(removed.first);
    bytes -= removed.bytes;
  }

  const removeAny = (): void => removeAt(Math.floor(Math.random() * kept.length));
  const find = (stream: string): KeptOutline | undefined => kept[places.get(stream) ?? -1];

  return {
    find,
    /** In place of an earlier one of the stream. False if it is too large. */
    add({ outline, ...rest }: OutlinedState): boolean {
      if (rest.bytes > maximumBytes()) return false;
      removeAt(places.get(rest.stream) ?? -1);
      while (bytes + rest.bytes > maximumBytes()) removeAny();
      places.set(rest.stream, kept.push({ ...rest, first: memory.write(outline), number: added }) - 1);
      bytes += rest.bytes;
      added += 1;
      return true;
    },
    /** Deciding on it may throw `WholeStateNeeded`. */
    stateOf(found: KeptOutline): StreamState {
      const state = found.type.outlines?.restore(memory.read(found.first));
      return stateOf(found, state, found.revision, found.lastEventId);
    },
    remove: (stream: string): void => removeAt(places.get(stream) ?? -1),
    removeAny,
    clear(): void {
      places.clear();
      kept.length = 0;
      memory.clear();
      bytes = 0;
    },
    get bytes() {
      return bytes;
    },
    get count() {
      return kept.length;
    },
    /** In all, with those that have left. */
    get added() {
      return added;
    },
  };
}
