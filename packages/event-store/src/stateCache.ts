/**
 * States of streams by name, the most recently used ones, bounded in bytes: a session of 10,000 bets takes
 * what a thousand short ones do, so a bound in entries would bound nothing.
 */

/** The state folded up to an event. */
export interface CachedState<State> {
  readonly state: State;
  /** Revision of the last event folded; -1 when the stream has none. */
  readonly revision: number;
  /** Id of that event, by which a rewritten stream is told apart. */
  readonly lastEventId: string | undefined;
  readonly bytes: number;
}

export interface StateCache {
  get(stream: string): CachedState<unknown> | undefined;
  set(stream: string, entry: CachedState<unknown>): void;
  delete(stream: string): void;
  clear(): void;
  readonly bytes: number;
  readonly entries: number;
}

export function createStateCache(maxBytes: number): StateCache {
  // A Map keeps insertion order; an entry that is used is put at the end, so the first is the oldest.
  const entries = new Map<string, CachedState<unknown>>();
  let bytes = 0;

  const remove = (stream: string): void => {
    const entry = entries.get(stream);
    if (!entry) return;
    bytes -= entry.bytes;
    entries.delete(stream);
  };

  return {
    get(stream) {
      const entry = entries.get(stream);
      if (!entry) return undefined;
      entries.delete(stream);
      entries.set(stream, entry);
      return entry;
    },
    set(stream, entry) {
      remove(stream);
      entries.set(stream, entry);
      bytes += entry.bytes;
      for (const oldest of entries.keys()) {
        if (bytes <= maxBytes) break;
        remove(oldest);
      }
    },
    delete: remove,
    clear() {
      entries.clear();
      bytes = 0;
    },
    get bytes() {
      return bytes;
    },
    get entries() {
      return entries.size;
    },
  };
}
