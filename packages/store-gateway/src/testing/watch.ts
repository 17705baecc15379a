/** What a subscriber receives, for specs. */
import type { AllStreamSubscription, RecordedEvent, StreamSubscription } from '@eventstore/db-client';

/** Records what a subscription receives, in order, and lets specs wait for it. */
export function watch(subscription: StreamSubscription | AllStreamSubscription) {
  const told: (RecordedEvent | 'confirmation' | 'caughtUp' | 'fellBehind' | Error)[] = [];
  let change = Promise.withResolvers<void>();
  const note = (entry: (typeof told)[number]): void => {
    told.push(entry);
    const { resolve } = change;
    change = Promise.withResolvers<void>();
    resolve();
  };
  // Both kinds have the same listeners.
  const listened = subscription as StreamSubscription;
  listened.on('confirmation', () => note('confirmation'));
  listened.on('caughtUp', () => note('caughtUp'));
  listened.on('fellBehind', () => note('fellBehind'));
  listened.on('error', note);
  listened.on('data', ({ event }) => {
    if (event) note(event);
  });
  const isEvent = (entry: (typeof told)[number]): entry is RecordedEvent =>
    typeof entry !== 'string' && !(entry instanceof Error);
  return {
    told,
    events: () => told.filter(isEvent),
    error: () => told.find((entry) => entry instanceof Error),
    async until(isReached: () => boolean): Promise<void> {
      while (!isReached()) await change.promise;
    },
    stop: () => subscription.unsubscribe(),
  };
}
