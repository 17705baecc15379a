/**
 * A look-up that many ask at the same time: one question is under way at most, and whoever asks meanwhile shares
 * the next one. Alone, nobody waits; under load, one question costs what one answer did.
 */

export interface BatchingLookupOptions<Key, Value> {
  /** One answer for each key, in their order. */
  readonly findAll: (keys: readonly Key[]) => Promise<readonly Value[]>;
  /** At most so many keys in one question. */
  readonly maximumKeys: number;
}

interface Waiting<Key, Value> {
  readonly key: Key;
  readonly resolve: (value: Value) => void;
  readonly reject: (reason: unknown) => void;
}

/** The answer is never older than the call: a question that is under way already does not answer it. */
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
        throw new Error(`${asked.length} were looked up and ${values.length} answered.`);
      }
      for (const [index, { resolve }] of asked.entries()) resolve(values[index] as Value);
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  };

  const askAll = async (): Promise<void> => {
    while (waiting.length > 0) await ask(waiting.splice(0, maximumKeys));
    asking = false;
  };

  return (key) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject });
      if (asking) return;
      asking = true;
      // After what has come in together: the first of it would else ask alone.
      setImmediate(askAll);
    });
}
