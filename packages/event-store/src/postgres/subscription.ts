/**
 * Follows the log. Each page starts at the last event delivered, which must still be there, and must be dense: a log
 * that was restored to an older state is noticed before any of it is delivered.
 */
import { distance } from '../decimalPosition.ts';
import { LogRewrittenError, StoreUnreachableError } from '../errors.ts';
import { pause } from '../pause.ts';
import type { LogPlace, RecordedEvent, SubscribeOptions, SubscriptionMessage } from '../port.ts';
import { PAGE_SIZE } from './logReader.ts';
import type { EventPage, SharedPageFrom } from './sharedPages.ts';
import type { Wakeups } from './wakeups.ts';

/** Notifications can be lost (a pooler, a dropped connection), so the log is polled this often as well. */
const POLL_MS = 500;
const RETRY_DELAYS_MS = [50, 100, 250, 500, 1_000, 2_000];

export async function* subscription(
  pageFrom: SharedPageFrom,
  wakeups: Wakeups,
  {
    after,
    signal,
    pageSize = PAGE_SIZE,
    readAhead = true,
    minPageIntervalMs = 0,
    takesRecent = false,
  }: SubscribeOptions,
): AsyncIterable<SubscriptionMessage> {
  let place = after;
  let isLive = false;
  let isBehind = false;
  /** A reader asks for the next page before it handles this one, so that this one's bytes are needed until the one after. */
  let releaseLast: EventPage['release'];
  let upcoming = ask();
  while (!signal.aborted) {
    const { wakeupsSeen, page } = upcoming;
    const { events, isFull, release } = await page;
    if (signal.aborted) return;
    const last = events.at(-1);
    if (last) place = { position: last.position, eventId: last.id };
    // Behind a page that was cut off for its size, the next ones are not expected to be of many events.
    isBehind = events.length === pageSize;
    if (isFull) {
      isLive = false;
      if (readAhead) upcoming = ask();
    }
    if (last) {
      yield { kind: 'events', events };
      releaseLast?.();
      releaseLast = release;
    }
    if (isFull) {
      if (!readAhead) upcoming = ask();
      continue;
    }
    if (!isLive && !signal.aborted) {
      isLive = true;
      yield { kind: 'caughtUp' };
    }
    if (minPageIntervalMs > 0) await pause(minPageIntervalMs, signal);
    await wakeups.moreThan(wakeupsSeen, POLL_MS, signal);
    if (!signal.aborted) upcoming = ask();
  }

  /** Wake-ups are counted before reading, so that one during the read is not slept through. */
  function ask(): { readonly wakeupsSeen: number; readonly page: Promise<EventPage> } {
    const wakeupsSeen = wakeups.count;
    const page = fetchPage(place, wakeupsSeen);
    // It fails where it is awaited; a reader that stops before does not care.
    page.catch(() => undefined);
    return { wakeupsSeen, page };
  }

  /** The events after the place; retries while the store is away. */
  async function fetchPage(from: LogPlace | undefined, wakeupsSeen: number): Promise<EventPage> {
    for (let attempt = 0; ; attempt++) {
      try {
        const found = await pageFrom({ from, pageSize, wakeupsSeen, takesRecent, isBehind });
        return { ...found, events: eventsAfter(from, found.events) };
      } catch (error) {
        if (!(error instanceof StoreUnreachableError)) throw error;
        const waitMs = RETRY_DELAYS_MS[Math.min(attempt, RETRY_DELAYS_MS.length - 1)];
        await pause(waitMs ?? 0, signal);
        if (signal.aborted) return { events: [], isFull: false };
      }
    }
  }
}

/** Drops the event at the place, whose presence it checks. Throws `LogRewrittenError`. */
function eventsAfter(place: LogPlace | undefined, found: readonly RecordedEvent[]): readonly RecordedEvent[] {
  if (place && (found[0]?.position !== place.position || found[0].id !== place.eventId)) {
    throw new LogRewrittenError(
      `The log does not hold event ${place.eventId} at position ${place.position} any longer.`,
    );
  }
  let last = place?.position;
  const events = place ? found.slice(1) : found;
  for (const { position } of events) {
    if (distance(last, position) !== 1) {
      const expected = BigInt(last ?? 0) + 1n;
      throw new LogRewrittenError(`The log has position ${position} where ${expected} should be.`);
    }
    last = position;
  }
  return events;
}
