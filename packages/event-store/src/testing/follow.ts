/** A subscription for specs. */
import type { EventStore, RecordedEvent, SubscribeOptions } from '../port.ts';

/** A subscription that records what it is told, and can be waited for. */
export function follow(store: EventStore, options: Omit<SubscribeOptions, 'signal'> = {}) {
  const stopping = new AbortController();
  const told: (RecordedEvent | 'caughtUp')[] = [];
  const pageSizes: number[] = [];
  let change = Promise.withResolvers<void>();
  const ended = (async () => {
    for await (const message of store.subscribeToAll({ ...options, signal: stopping.signal })) {
      if (message.kind === 'events') {
        told.push(...message.events);
        pageSizes.push(message.events.length);
      } else told.push(message.kind);
      const { resolve } = change;
      change = Promise.withResolvers<void>();
      resolve();
    }
  })();
  // It fails where it is awaited.
  ended.catch(() => undefined);
  return {
    told,
    pageSizes,
    ended,
    events: () => told.filter((entry) => entry !== 'caughtUp'),
    ids: () => told.filter((entry) => entry !== 'caughtUp').map(({ id }) => id),
    async until(isReached: () => boolean): Promise<void> {
      const endedEarly = ended.then(() => Promise.reject(new Error('The subscription ended before that.')));
      while (!isReached()) await Promise.race([change.promise, endedEarly]);
    },
    async stop(): Promise<void> {
      stopping.abort();
      await ended;
    },
  };
}
