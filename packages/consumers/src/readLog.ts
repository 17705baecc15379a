/** Reads the log to a consumer, page by page, for as long as it holds the lease. */
import type { EventStore, LogPlace, RecordedEvent } from '@coffer/event-store';
import { ascending } from './ascending.ts';
import { PoisonEventError } from './errors.ts';
import type { Progress } from './progress.ts';
import type { RunningWork } from './work.ts';

/** Returns when `signal` aborts; throws what else ends the reading. Either way the subscription is over. */
export async function readLog({
  store,
  after,
  work,
  progress,
  pageSize,
  minPageIntervalMs,
  takesRecent,
  signal,
  endSession,
  onPageTaken,
}: {
  readonly store: Pick<EventStore, 'subscribeToAll' | 'comparePositions'>;
  readonly after: LogPlace | undefined;
  readonly work: RunningWork;
  readonly progress: Progress;
  readonly pageSize: number;
  readonly minPageIntervalMs: number;
  readonly takesRecent: boolean;
  readonly signal: AbortSignal;
  /** Aborts `signal`. */
  readonly endSession: () => void;
  readonly onPageTaken: () => void;
}): Promise<void> {
  const messages = store
    .subscribeToAll({ after, signal, pageSize, minPageIntervalMs, takesRecent })
    [Symbol.asyncIterator]();
  const expectNext = ascending(store, after);
  let upcoming = messages.next();
  try {
    for (;;) {
      const { done, value: message } = await upcoming;
      if (signal.aborted) return;
      if (done) throw new Error('The subscription to the log ended by itself.');
      // The next page is fetched while this one is taken; its failure is seen when it is awaited.
      upcoming = messages.next();
      upcoming.catch(() => undefined);
      if (message.kind === 'caughtUp') {
        work.caughtUp();
        progress.caughtUp();
      } else {
        expectNext(message.events);
        await take(message.events, work, progress);
        onPageTaken();
      }
    }
  } finally {
    // The signal ends the subscription, so that nothing reads on after the lease is released.
    endSession();
    await messages.return?.();
  }
}

async function take(events: readonly RecordedEvent[], work: RunningWork, progress: Progress): Promise<void> {
  const took = (last: RecordedEvent | undefined) => last && progress.took(last);
  try {
    await work.take(events);
  } catch (error) {
    // The events before the one to blame were taken.
    if (error instanceof PoisonEventError) took(events[events.findIndex(error.isAbout) - 1]);
    throw error;
  }
  took(events.at(-1));
}
