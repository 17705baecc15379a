/**
 * Several consumers follow the log in one process, and those that keep up are near the same event. A wake-up makes them
 * request the same page at the same moment; and the last events read are kept for a while, so that whoever
 * follows a little behind is given them again, and reads only what nobody has read yet.
 */
import type { LogPlace, RecordedEvent } from '../port.ts';
import { createRecentEvents } from './recentEvents.ts';

export interface EventPage {
  readonly events: readonly RecordedEvent[];
  /** Whether there may be more: it has as many events as were asked for, or as many bytes as a page has. */
  readonly isFull: boolean;
  /** The bytes that its events keep are no longer needed. */
  readonly release?: () => void;
}

export interface PageNeed {
  /** About so many events are expected. */
  readonly expected: number;
  /** Whether the events should keep the bytes from which they were read, until the page is released. */
  readonly keepsBytes: boolean;
}

type Page = Promise<EventPage>;
/** The given place comes first, if it still exists, then at most so many events after it, and at least one. */
export type PageFrom = (from: LogPlace | undefined, pageSize: number, need: PageNeed) => Page;

interface PageRequest {
  readonly from: LogPlace | undefined;
  readonly pageSize: number;
  /** A page in flight is shared among readers that have seen the same number, so that no wake-up is missed. */
  readonly wakeupsSeen: number;
  /** Whether events that were read a moment ago will do. */
  readonly takesRecent: boolean;
  /** Whether as many events as were asked for are expected. */
  readonly isBehind: boolean;
}

export type SharedPageFrom = (request: PageRequest) => Page;

export function sharePages(pageFrom: PageFrom): SharedPageFrom {
  const onTheirWay = new Map<string, Page>();
  const recent = createRecentEvents();
  /** For a reader that keeps up: as many as were there the last time. Those of a page that was cut off short of its size are large. */
  let expectedNext = 0;

  return async ({ from, pageSize, wakeupsSeen, takesRecent, isBehind }) => {
    // Who reacts to events may hold one for long, and with it the bytes of its page.
    if (isBehind && !takesRecent) return pageFrom(from, pageSize, { expected: pageSize, keepsBytes: true });
    const readFrom = (place: LogPlace | undefined) => read(place, pageSize, wakeupsSeen, isBehind);
    const known = from && takesRecent ? recent.from(from) : undefined;
    const last = known?.at(-1);
    if (!from || !known || !last) return readFrom(from);
    if (known.length > pageSize) return { events: known.slice(0, pageSize + 1), isFull: true };
    const { events, isFull } = await readFrom({ position: last.position, eventId: last.id });
    const [there, ...next] = events;
    // What was known is in the log no longer: whether the reader's place is, only the log can tell.
    if (there?.id !== last.id) return readFrom(from);
    const all = known.concat(next);
    const isLonger = all.length > pageSize;
    return { events: isLonger ? all.slice(0, pageSize + 1) : all, isFull: isFull || isLonger };
  };

  function read(from: LogPlace | undefined, pageSize: number, wakeupsSeen: number, isBehind: boolean): Page {
    const key = JSON.stringify([from?.position, from?.eventId, pageSize, wakeupsSeen]);
    const known = onTheirWay.get(key);
    if (known) return known;
    const expected = isBehind ? pageSize : Math.min(expectedNext, pageSize);
    const page = pageFrom(from, pageSize, { expected, keepsBytes: false }).then((found) => {
      const { events, isFull } = found;
      if (!isBehind) expectedNext = isFull && events.length < pageSize ? 0 : events.length;
      recent.saw(from, events);
      return found;
    });
    onTheirWay.set(key, page);
    const forget = () => {
      onTheirWay.delete(key);
    };
    page.then(forget, forget);
    return page;
  }
}
