/**
 * Several consumers follow the log in one process, and those that keep up are near the same event. A wake-up makes them
 * request the same page at the same moment; and the last events read are kept for a while, so that whoever
 * follows a little behind is given them again, and reads only what nobody has read yet.
 */
import type { LogPlace, RecordedEvent } from '../port.ts';
import { createRecentEvents } from './recentEvents.ts';

type Page = Promise<readonly RecordedEvent[]>;
/** The given place comes first, if it still exists, then at most so many events after it; copied, they keep its bytes. */
export type PageFrom = (from: LogPlace | undefined, pageSize: number, isCopied: boolean) => Page;

interface PageRequest {
  readonly from: LogPlace | undefined;
  readonly pageSize: number;
  /** A page in flight is shared among readers that have seen the same number, so that no wake-up is missed. */
  readonly wakeupsSeen: number;
  /** Whether events that were read a moment ago will do. */
  readonly takesRecent: boolean;
  /** Whether a full page is expected. */
  readonly isBehind: boolean;
}

export type SharedPageFrom = (request: PageRequest) => Page;

export function sharePages(pageFrom: PageFrom): SharedPageFrom {
  const onTheirWay = new Map<string, Page>();
  const recent = createRecentEvents();

  return async ({ from, pageSize, wakeupsSeen, takesRecent, isBehind }) => {
    // Who reacts to events may hold one for long, and a copied one holds the bytes of its page.
    if (isBehind && !takesRecent) return pageFrom(from, pageSize, true);
    const known = from && takesRecent ? recent.from(from) : undefined;
    const last = known?.at(-1);
    if (!from || !known || !last) return read(from, pageSize, wakeupsSeen);
    if (known.length > pageSize) return known.slice(0, pageSize + 1);
    const end = { position: last.position, eventId: last.id };
    const [there, ...next] = await read(end, pageSize, wakeupsSeen);
    // What was known is in the log no longer: whether the reader's place is, only the log can tell.
    if (there?.id !== last.id) return read(from, pageSize, wakeupsSeen);
    return [...known, ...next].slice(0, pageSize + 1);
  };

  function read(from: LogPlace | undefined, pageSize: number, wakeupsSeen: number): Page {
    const key = JSON.stringify([from?.position, from?.eventId, pageSize, wakeupsSeen]);
    const known = onTheirWay.get(key);
    if (known) return known;
    const page = pageFrom(from, pageSize, false).then((events) => {
      recent.saw(from, events);
      return events;
    });
    onTheirWay.set(key, page);
    const forget = () => {
      onTheirWay.delete(key);
    };
    page.then(forget, forget);
    return page;
  }
}
