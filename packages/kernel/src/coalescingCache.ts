/**
 * A bounded cache in front of a slow look-up: a fresh value is returned as it is, without a promise, and
 * callers who miss at the same time share one look-up.
 */

export interface CoalescingCache<Value> {
  readonly get: (key: string) => Value | Promise<Value>;
  /** The next `get` looks up again, also when a look-up is under way now. */
  readonly forget: (key: string) => void;
}

export interface CoalescingCacheOptions<Value> {
  readonly load: (key: string) => Promise<Value>;
  /** How old an answer may be, counted from the moment it was asked for. */
  readonly lifetimeMs: number;
  /** The oldest entry makes room. */
  readonly maximumEntries: number;
  /** Must never go back: `performance.now` outside of specs. */
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
        // Only while nobody has forgotten the key or asked again since.
        if (entries.get(key) === entry) entries.set(key, { askedAtMs, loading: undefined, value });
        return value;
      },
      (error: unknown) => {
        if (entries.get(key) === entry) entries.delete(key);
        throw error;
      },
    );
    const entry: Entry<Value> = { askedAtMs, loading };
    // Deleted first, so that the order of the map is the order of asking.
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
      // A look-up that takes longer than an answer may be old is not joined.
      if (!entry || nowMs() - entry.askedAtMs >= lifetimeMs) return ask(key);
      return entry.loading ?? entry.value;
    },
    forget: (key) => {
      entries.delete(key);
    },
  };
}
