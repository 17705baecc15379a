/** Takes the available items from a client stream in batches, and notices silence. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ANOTHER_LEADS, SilenceError } from './failures.ts';

/** The parts of a client stream that are used. */
export interface Source<Item> {
  read(): Item | null;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'end' | 'close' | 'readable', listener: () => void): unknown;
}

export interface Inlet<Item> {
  /** Up to `limit` items: what is there now, and what follows immediately. May be empty. */
  take(limit: number): Promise<Item[]>;
  /** A counter of arrivals, including the end. Read it before looking. */
  changes(): number;
  /** Resolves when the counter exceeds `seen`, or on timeout. */
  moreThan(seen: number, timeoutMs: number): Promise<'changed' | 'silence'>;
  /** Counts as a change. */
  wake(): void;
  isEnded(): boolean;
  /** The first error. Items from before it can still be taken. */
  failure(): { readonly error: unknown } | undefined;
}

export function createInlet<Item>(stream: Source<Item>): Inlet<Item> {
  let failure: { readonly error: unknown } | undefined;
  let isEnded = false;
  let changes = 0;
  let change = Promise.withResolvers<void>();
  const wake = (): void => {
    changes += 1;
    const { resolve } = change;
    change = Promise.withResolvers<void>();
    resolve();
  };
  // The listener stays: without one, a late error would end the process.
  stream.on('error', (error) => {
    failure ??= { error };
    wake();
  });
  const ended = (): void => {
    isEnded = true;
    wake();
  };
  stream.on('end', ended);
  stream.on('close', ended);
  stream.on('readable', wake);

  return {
    async take(limit) {
      const items: Item[] = [];
      // Items arrive one by one even when many are there at once: a single look finds few.
      for (;;) {
        const before = items.length;
        while (items.length < limit) {
          const item = stream.read();
          if (item === null) break;
          items.push(item);
        }
        if (items.length === before || items.length >= limit) return items;
        await nextTurn();
      }
    },
    changes: () => changes,
    async moreThan(seen, timeoutMs) {
      if (changes > seen) return 'changed';
      let timer: NodeJS.Timeout | undefined;
      const silence = new Promise<'silence'>((resolve) => {
        timer = setTimeout(() => resolve('silence'), timeoutMs);
      });
      try {
        return await Promise.race([change.promise.then(() => 'changed' as const), silence]);
      } finally {
        clearTimeout(timer);
      }
    },
    wake,
    isEnded: () => isEnded,
    failure: () => failure,
  };
}

export interface BatchOptions {
  readonly batchSize: number;
  /** Silence of this length is reported. */
  readonly patienceMs: number;
  readonly onSilence: () => void;
  /** After this long, or when the signal aborts, the stream is given up. */
  readonly silenceMs: number;
  readonly left: AbortSignal;
}

/** Everything that a client stream yields. Throws its failure, or `SilenceError`. */
export async function* batchesOf<Item>(
  stream: Source<Item>,
  { batchSize, patienceMs, onSilence, silenceMs, left }: BatchOptions,
): AsyncIterable<readonly Item[]> {
  const inlet = createInlet<Item>(stream);
  left.addEventListener('abort', inlet.wake);
  try {
    yield* batches();
  } finally {
    left.removeEventListener('abort', inlet.wake);
  }

  async function* batches(): AsyncIterable<readonly Item[]> {
    for (;;) {
      const seen = inlet.changes();
      const batch = await inlet.take(batchSize);
      if (batch.length > 0) {
        yield batch;
        continue;
      }
      const failure = inlet.failure();
      if (failure) throw failure.error;
      if (inlet.isEnded()) return;
      if (left.aborted) throw new SilenceError(ANOTHER_LEADS);
      if ((await inlet.moreThan(seen, patienceMs)) === 'changed') continue;
      onSilence();
      if ((await inlet.moreThan(seen, silenceMs - patienceMs)) === 'silence')
        throw new SilenceError(`The server was silent for ${silenceMs} ms.`);
    }
  }
}
