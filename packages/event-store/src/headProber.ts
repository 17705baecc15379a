/** Asks for the heads of streams, all that are asked for meanwhile in one question to the store. */
import type { EventStore, StreamHead } from './port.ts';

export type ProbeHead = (stream: string) => Promise<StreamHead | undefined>;

interface Waiting {
  readonly stream: string;
  readonly resolve: (head: StreamHead | undefined) => void;
  readonly reject: (reason: unknown) => void;
}

/** At most so many streams in one question. */
const MAX_STREAMS = 256;

export function createHeadProber(store: Pick<EventStore, 'heads'>): ProbeHead {
  const waiting: Waiting[] = [];
  let asking = false;

  const askAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const asked = waiting.splice(0, MAX_STREAMS);
      try {
        const heads = await store.heads(asked.map(({ stream }) => stream));
        asked.forEach(({ resolve }, index) => {
          resolve(heads[index]);
        });
      } catch (error) {
        for (const { reject } of asked) reject(error);
      }
    }
    asking = false;
  };

  return (stream) =>
    new Promise((resolve, reject) => {
      // Only questions that are asked after this moment may answer it: those in flight are too old.
      waiting.push({ stream, resolve, reject });
      if (asking) return;
      asking = true;
      queueMicrotask(askAll);
    });
}
