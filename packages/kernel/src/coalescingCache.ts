/**
 * A bounded cache in front of a slow lookup. A fresh value is returned synchronously, and callers who miss at the same
 * time share one lookup.
 */

export interface CoalescingCache<Value> {
  readonly get: (key: string) => Value | Promise<Value>;
  /** The next `get` looks up again, even if a lookup is in flight now. */
  readonly forget: (key: string) => void;
}

export interface CoalescingCacheOptions<Value> {
  readonly load: (key: string) => Promise<Value>;
  /** The maximum age of a value, counted from the start of its lookup. */
  readonly lifetimeMs: number;
  /** Beyond this the oldest entry is evicted. */
  readonly maximumEntries: number;
  /** Must be monotonic: `performance.now` outside specs. */
  readonly nowMs: () => number;
}

type Entry<Value> =
  | { readonly askedAtMs: number; readonly loading: Promise<Value> }
  | { readonly askedAtMs: number; readonly loading: undefined; readonly value: Value };

export function createCoalescingCache<Value>(options: CoalescingCacheOptions<Value>): CoalescingCache<Value> {
  const { load, lifetimeMs, maximumEntries, nowMs } = options;
  const entries = new Map<string, Entry<Value>>();

  const ask = (key: string): Promise<Value> => {
    const askedAtMs = nowMs();
    const loading = load(key).then(
      (value) => {
        // Unless the key has been forgotten or looked up again since.
        if (entries.get(key) === entry) entries.set(key, { askedAtMs, loading: undefined, value });
        return value;
      },
      (error: unknown) => {
        if (entries.get(key) === entry) entries.delete(key);
        throw error;
      },
    );
    const entry: Entry<Value> = { askedAtMs, loading };
    // Deleted first, so that the map is ordered by the start of the lookup.
    entries.delete(key);
    entries.set(key, entry);
    if (entries.size > maximumEntries) {
      for (const oldest of entries.keys()) {
        entries.delete(oldest);
        break;
      }
    }
    return loading;
  };

  return {
    get: (key) => {
      const entry = entries.get(key);
      // A lookup older than the lifetime is not joined.
      if (!entry || nowMs() - entry.askedAtMs >= lifetimeMs) return ask(key);
      return entry.loading ?? entry.value;
    },
    forget: (key) => {
      entries.delete(key);
    },
  };
}
