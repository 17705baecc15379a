/** The last events that were read from the log, without a gap. */
import { comparePositions, distance } from '../decimalPosition.ts';
import type { LogPlace, RecordedEvent } from '../port.ts';

/** At as many bets as two cores answer, three reads of a thousand asked for more. What is kept for longer is old for the collector when it goes. */
const MOST_EVENTS = 2_000;
/** Of data and metadata. */
const MOST_CHARACTERS = 4 * 1024 * 1024;
/** Without a look at their end for so long, they are not trusted: the log may have been restored to an older state. */
const LASTING_MS = 1_000;

export function createRecentEvents(nowMs: () => number = () => performance.now()) {
  const events: RecordedEvent[] = [];
  let characters = 0;
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
        if (isOver() || isNewer(page, events.at(-1))) keep(0, page);
      } else if (page[0]?.id !== place?.eventId) keep(0, []);
      else if (index + page.length >= events.length) keep(index, page);
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

  /** The first so many of them, then the page. What was there before is not looked at: pages are small, and many. */
  function keep(count: number, page: readonly RecordedEvent[]): void {
    for (const event of events.splice(count)) characters -= charactersOf(event);
    for (const event of page) {
      events.push(event);
      characters += charactersOf(event);
    }
    let over = 0;
    for (const event of events) {
      if (events.length - over <= MOST_EVENTS && characters <= MOST_CHARACTERS) break;
      characters -= charactersOf(event);
      over += 1;
    }
    events.splice(0, over);
    seenAtMs = nowMs();
  }
}

const charactersOf = ({ data, metadata }: RecordedEvent): number => data.length + metadata.length;

function isNewer(page: readonly RecordedEvent[], last: RecordedEvent | undefined): boolean {
  const reached = page.at(-1);
  return reached !== undefined && (!last || comparePositions(reached.position, last.position) > 0);
}
