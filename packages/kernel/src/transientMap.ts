/**
 * A map of what soon goes again. V8 replaces the table of a map that deletions have worn out, and the old table refers to
 * the new one: once one of them has grown old, all that follow it, and what they hold, stay until the whole heap is
 * collected. A new map is referred to by none. ADR 0070.
 */
export interface TransientMap<Key, Value> {
  has(key: Key): boolean;
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): void;
  delete(key: Key): void;
}

/** Between two maps, so that a small one is not made anew all the time. */
const FEWEST_DELETIONS = 64;

export function createTransientMap<Key, Value>(): TransientMap<Key, Value> {
  let map = new Map<Key, Value>();
  let deletions = 0;
  return {
    has: (key) => map.has(key),
    get: (key) => map.get(key),
    set(key, value) {
      map.set(key, value);
    },
    delete(key) {
      if (!map.delete(key)) return;
      deletions += 1;
      if (deletions < Math.max(FEWEST_DELETIONS, map.size)) return;
      map = new Map(map);
      deletions = 0;
    },
  };
}
