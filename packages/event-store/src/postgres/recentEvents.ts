/** The last events that were read from the log, without a gap. */
import { comparePositions, distance } from '../decimalPosition.ts';
import type { LogPlace, RecordedEvent } from '../port.ts';

const MOST_EVENTS = 6_000;
/** Of data and metadata. */
const MOST_CHARACTERS = 4 * 1024 * 1024;
/** Without a look at their end for so long, they are not trusted: the log may have been restored to an older state. */
const LASTING_MS = 1_000;

export function createRecentEvents(nowMs: () => number = () => performance.now()) {
  let events: readonly RecordedEvent[] = [];
  let seenAtMs = 0;

  return {
    /** Those from the place on, itself included; undefined where they are not known. */
    from(place: LogPlace): readonly RecordedEvent[] | undefined {
      const index = indexOf(place);
      return index === undefined ? undefined : events.slice(index);
    },

    /** A page that was just read from the place on, itself included if it is still there. */
    saw(place: LogPlace | undefined, page: readonly RecordedEvent[]): void {
      const index = place && indexOf(place);
      if (index === undefined) {
        // A reader that is far behind does not take the place of those that are at the end.
        if (isOver() || isNewer(page, events.at(-1))) keep(page);
      } else if (page[0]?.id !== place?.eventId) events = [];
      else if (index + page.length >= events.length) keep([...events.slice(0, index), ...page]);
    },
  };

  function isOver(): boolean {
    return nowMs() - seenAtMs > LASTING_MS;
  }

  function indexOf({ position, eventId }: LogPlace): number | undefined {
    const [first] = events;
    if (!first || isOver()) return undefined;
    // The positions of the log are dense.
    const index = distance(first.position, position);
    return index !== undefined && events[index]?.id === eventId ? index : undefined;
  }

  function keep(all: readonly RecordedEvent[]): void {
    let from = Math.max(0, all.length - MOST_EVENTS);
    let characters = 0;
    for (let index = all.length - 1; index >= from; index--) {
      const event = all[index];
      characters += event ? event.data.length + event.metadata.length : 0;
      if (characters > MOST_CHARACTERS) from = index + 1;
    }
    events = all.slice(from);
    seenAtMs = nowMs();
  }
}

function isNewer(page: readonly RecordedEvent[], last: RecordedEvent | undefined): boolean {
  const reached = page.at(-1);
  return reached !== undefined && (!last || comparePositions(reached.position, last.position) > 0);
}
