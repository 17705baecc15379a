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
  /**
   * A `get` of a value of this age begins the next lookup and returns what is there, so that a value in constant use is
   * never waited for. Default: no value is renewed before its lifetime is over.
   */
  readonly renewAfterMs?: number;
  /** Beyond this the oldest entry is evicted. */
  readonly maximumEntries: number;
  /** Must be monotonic: `performance.now` outside specs. */
  readonly nowMs: () => number;
}

interface Known<Value> {
  readonly askedAtMs: number;
  readonly loading: undefined;
  readonly value: Value;
  /** Whether its renewal has failed: there is one attempt in its lifetime. */
  readonly isLast: boolean;
}

interface Loading<Value> {
  readonly askedAtMs: number;
  readonly loading: Promise<Value>;
  /** What this lookup renews. */
  readonly known: Known<Value> | undefined;
}

export function createCoalescingCache<Value>(options: CoalescingCacheOptions<Value>): CoalescingCache<Value> {
  const { load, lifetimeMs, renewAfterMs = lifetimeMs, maximumEntries, nowMs } = options;
  const entries = new Map<string, Known<Value> | Loading<Value>>();

  const ask = (key: string, known?: Known<Value>): Promise<Value> => {
    const askedAtMs = nowMs();
    const loading = load(key).then(
      (value) => {
        // Unless the key has been forgotten or looked up again since.
        if (entries.get(key) === entry)
          entries.set(key, { askedAtMs, loading: undefined, value, isLast: false });
        return value;
      },
      (error: unknown) => {
        if (entries.get(key) === entry) {
          if (known) entries.set(key, { ...known, isLast: true });
          else entries.delete(key);
        }
        throw error;
      },
    );
    const entry: Loading<Value> = { askedAtMs, loading, known };
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
      const now = nowMs();
      // A lookup older than the lifetime is not joined.
      if (!entry || now - entry.askedAtMs >= lifetimeMs) return ask(key);
      if (entry.loading) {
        const { known, loading } = entry;
        return known && now - known.askedAtMs < lifetimeMs ? known.value : loading;
      }
      if (now - entry.askedAtMs >= renewAfterMs && !entry.isLast) {
        // What it fails with, whoever asks after the lifetime is told.
        ask(key, entry).catch(() => undefined);
      }
      return entry.value;
    },
    forget: (key) => {
      entries.delete(key);
    },
  };
}
