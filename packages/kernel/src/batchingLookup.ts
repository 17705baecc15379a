/**
 * A lookup for many simultaneous callers: at most one query is in flight, and callers who arrive meanwhile share the
 * next one. A lone caller does not wait; under load, one query costs what one lookup did.
 */

export interface BatchingLookupOptions<Key, Value> {
  /** One value for each key, in their order. */
  readonly findAll: (keys: readonly Key[]) => Promise<readonly Value[]>;
  /** The most keys in the next query. */
  readonly maximumKeys: number | (() => number);
}

interface Waiting<Key, Value> {
  readonly key: Key;
  readonly resolve: (value: Value) => void;
  readonly reject: (reason: unknown) => void;
}

/** The answer is never older than the call: a query already in flight does not serve it. */
export function createBatchingLookup<Key, Value>(
  options: BatchingLookupOptions<Key, Value>,
): (key: Key) => Promise<Value> {
  const { findAll, maximumKeys } = options;
  const waiting: Waiting<Key, Value>[] = [];
  let asking = false;

  const ask = async (asked: readonly Waiting<Key, Value>[]): Promise<void> => {
    try {
      const values = await findAll(asked.map(({ key }) => key));
      if (values.length !== asked.length) {
        throw new Error(`${asked.length} keys were looked up, but ${values.length} values came back.`);
      }
      for (const [index, { resolve }] of asked.entries()) resolve(values[index] as Value);
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  };

  const askAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      await ask(waiting.splice(0, typeof maximumKeys === 'number' ? maximumKeys : maximumKeys()));
    }
    asking = false;
  };

  return (key) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject });
      if (asking) return;
      asking = true;
      // Runs after all callers of this turn have arrived; otherwise the first would be queried alone.
      setImmediate(askAll);
    });
}
