/**
 * Several consumers follow the log in one process, and those that keep up are at the same event: a wake-up makes them
 * request the same page at the same moment. It is read once for all of them.
 */
import type { LogPlace, RecordedEvent } from '../port.ts';

type Page = Promise<readonly RecordedEvent[]>;
export type PageFrom = (from: LogPlace | undefined, pageSize: number) => Page;

/** Shares a page in flight among readers that have seen the same number of wake-ups, so that none is missed. */
export type SharedPageFrom = (from: LogPlace | undefined, pageSize: number, wakeupsSeen: number) => Page;

export function sharePages(pageFrom: PageFrom): SharedPageFrom {
  const onTheirWay = new Map<string, Page>();
  return (from, pageSize, wakeupsSeen) => {
    const key = JSON.stringify([from?.position, from?.eventId, pageSize, wakeupsSeen]);
    const known = onTheirWay.get(key);
    if (known) return known;
    const page = pageFrom(from, pageSize);
    onTheirWay.set(key, page);
    const forget = () => {
      onTheirWay.delete(key);
    };
    page.then(forget, forget);
    return page;
  };
}
