/** Keeps the live read models filled, whichever version is live: it follows the pointer. */
import { type Consumer, type ConsumerOptions, LostLeaseError } from '@coffer/consumers';
import { READ_MODELS_CONSUMER, type ReadModelProjections, startReadModels } from './readModels.ts';
import { dropSuperseded, liveReadSchema } from './schema.ts';

export type LiveReadModelsOptions = Omit<ConsumerOptions, 'name' | 'work' | 'schema'> & {
  readonly projections: ReadModelProjections;
  /** How often the pointer is polled. Default 1,000 ms. */
  readonly pointerPollMs?: number;
};

/** Superseded versions are cleaned up once in this many polls of the pointer. */
const POLLS_PER_CLEANING = 60;

export async function startLiveReadModels(options: LiveReadModelsOptions): Promise<Consumer> {
  const { pool, pointerPollMs = 1_000, onTrouble } = options;
  const stopping = new AbortController();
  let schema = await liveReadSchema(pool);
  let consumer = start();
  let polls = 0;
  let timer = setTimeout(poll, pointerPollMs);
  let polling: Promise<void> | undefined;

  return {
    status: () => consumer.status(),
    isBehind: () => consumer.isBehind(),
    async stop() {
      stopping.abort();
      clearTimeout(timer);
      await polling;
      await consumer.stop();
    },
  };

  function start(): Consumer {
    return startReadModels({
      ...options,
      schema,
      onTrouble(trouble) {
        // A rebuild takes the checkpoint away when it moves the pointer; polling at once shows the reason.
        if (trouble.error instanceof LostLeaseError) lookAtOnce();
        onTrouble(trouble);
      },
    });
  }

  function lookAtOnce(): void {
    if (polling || stopping.signal.aborted) return;
    clearTimeout(timer);
    poll();
  }

  function poll(): void {
    polling = look()
      .catch((error: unknown) => onTrouble({ consumer: READ_MODELS_CONSUMER, error }))
      .finally(() => {
        polling = undefined;
        if (!stopping.signal.aborted) timer = setTimeout(poll, pointerPollMs);
      });
  }

  async function look(): Promise<void> {
    const live = await liveReadSchema(pool);
    if (live !== schema) {
      await consumer.stop();
      schema = live;
      consumer = start();
    }
    polls += 1;
    if (polls % POLLS_PER_CLEANING === 0) await dropSuperseded(pool);
  }
}
