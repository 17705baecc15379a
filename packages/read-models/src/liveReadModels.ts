/** Keeps the live read models filled, whichever version is live: it follows the pointer. */
import type { Consumer, ConsumerOptions } from '@coffer/consumers';
import { type ReadModelProjections, startReadModels } from './readModels.ts';
import { dropSuperseded, liveReadSchema } from './schema.ts';

export type LiveReadModelsOptions = Omit<ConsumerOptions, 'name' | 'work' | 'schema'> & {
  readonly projections: ReadModelProjections;
  /** How often the pointer is looked at. Default 1,000 ms. */
  readonly pointerPollMs?: number;
};

/** Superseded versions are looked for once in so many looks at the pointer. */
const POLLS_PER_CLEANING = 60;

export async function startLiveReadModels(options: LiveReadModelsOptions): Promise<Consumer> {
  const { pool, pointerPollMs = 1_000, onTrouble } = options;
  const stopping = new AbortController();
  let schema = await liveReadSchema(pool);
  let consumer = startReadModels({ ...options, schema });
  let polls = 0;
  let timer = setTimeout(poll, pointerPollMs);
  let polling: Promise<void> = Promise.resolve();

  return {
    status: () => consumer.status(),
    async stop() {
      stopping.abort();
      clearTimeout(timer);
      await polling;
      await consumer.stop();
    },
  };

  function poll(): void {
    polling = look()
      .catch((error: unknown) => onTrouble({ consumer: 'readModels', error }))
      .finally(() => {
        if (!stopping.signal.aborted) timer = setTimeout(poll, pointerPollMs);
      });
  }

  async function look(): Promise<void> {
    const live = await liveReadSchema(pool);
    if (live !== schema) {
      await consumer.stop();
      schema = live;
      consumer = startReadModels({ ...options, schema });
    }
    polls += 1;
    if (polls % POLLS_PER_CLEANING === 0) await dropSuperseded(pool);
  }
}
