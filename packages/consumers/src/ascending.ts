/** Whether the log is read in its order, each event once: a place is a count, which an event that came twice would falsify. */
import type { EventStore, LogPlace, RecordedEvent } from '@coffer/event-store';

/** For the pages after a place. Throws if one begins at or before the last event of those that came before it. */
export function ascending(
  store: Pick<EventStore, 'comparePositions'>,
  after: Pick<LogPlace, 'position'> | undefined,
): (page: readonly RecordedEvent[]) => void {
  let reached = after?.position;
  return (page) => {
    const [first] = page;
    if (first && reached !== undefined && store.comparePositions(first.position, reached) <= 0) {
      throw new Error(`The log gave the event at ${first.position} after that at ${reached}.`);
    }
    reached = page.at(-1)?.position ?? reached;
  };
}
