/**
 * Readers take turns at the store, a small page each, so that hundreds of them hold only a page each, and one that
 * reads the whole log leaves the process and the database to others in between. While the service is working for
 * somebody else there is a pause before each page.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type {
  EventPages,
  EventStore,
  LogPlace,
  ReadAllOptions,
  ReadStreamOptions,
  RecordedEvent,
  SubscribeOptions,
  SubscriptionMessage,
} from '@coffer/event-store';

export const PAGE_SIZE = 64;
/** About how many bytes of events a reader holds; a larger single event is held alone. */
export const PAGE_BYTES = 256 * 1024;
/** How many pages are fetched at a time, for all readers together. */
const MAX_TURNS = 2;
const BUSY_PAUSE_MS = 50;

/** Runs the work when its turn comes, unless the signal has ended the read by then. */
export type InTurn = <Result>(work: () => Promise<Result>, ended: AbortSignal) => Promise<Result | undefined>;

export function createTurns({
  isBusy,
  pause = () => delay(BUSY_PAUSE_MS),
}: {
  readonly isBusy: () => boolean;
  readonly pause?: () => Promise<unknown>;
}): InTurn {
  let taken = 0;
  const waiting: (() => void)[] = [];

  return async (work, ended) => {
    if (taken < MAX_TURNS) taken += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      if (!ended.aborted && isBusy()) await pause();
      return ended.aborted ? undefined : await work();
    } finally {
      const next = waiting.shift();
      // The turn goes to the reader that has waited longest.
      if (next) next();
      else taken -= 1;
    }
  };
}

/** What a subscriber receives; unlike a store's, it also reports falling behind again. */
type TurnMessage = SubscriptionMessage | { readonly kind: 'fellBehind' };

export interface StoreInTurns extends Pick<EventStore, 'head' | 'heads' | 'readStream' | 'readAll'> {
  subscribeToAll(options: Omit<SubscribeOptions, 'pageSize'>): AsyncIterable<TurnMessage>;
}

/** The store as one read sees it: page by page, each in its turn, and none fetched ahead. */
export function inTurns(store: EventStore, inTurn: InTurn, ended: AbortSignal): StoreInTurns {
  async function* pages(
    limit: number,
    fetch: (size: number, last: RecordedEvent | undefined) => EventPages,
  ): EventPages {
    let left = limit;
    let last: RecordedEvent | undefined;
    let size = PAGE_SIZE;
    while (left > 0) {
      const wanted = Math.min(left, size);
      const page = await inTurn(async () => withinBytes(await firstOf(fetch(wanted, last))), ended);
      if (!page || page.events.length === 0) return;
      const { events, isCut } = page;
      left -= events.length;
      last = events.at(-1);
      size = nextSize(page, size);
      yield events;
      if (!isCut && events.length < wanted) return;
    }
  }

  return {
    head: store.head,
    heads: store.heads,
    readStream: (stream, { fromRevision, limit = Infinity, ...options }: ReadStreamOptions = {}) =>
      pages(limit, (size, last) => {
        const step = options.direction === 'backwards' ? -1 : 1;
        const from = last ? last.revision + step : fromRevision;
        // There is nothing before the first.
        if (from !== undefined && from < 0 && step < 0) return none();
        return store.readStream(stream, {
          ...options,
          limit: size,
          ...(from !== undefined && { fromRevision: from }),
        });
      }),
    readAll: ({ from, limit = Infinity, ...options }: ReadAllOptions = {}) =>
      pages(limit, (size, last) => {
        const next = last?.position ?? from;
        return store.readAll({ ...options, limit: size, ...(next !== undefined && { from: next }) });
      }),
    async *subscribeToAll({ after, signal }) {
      let place = after;
      let size = PAGE_SIZE;
      let isLive = false;
      while (!ended.aborted) {
        const asked = { after: place, signal, pageSize: size, readAhead: false };
        let page: Page | undefined;
        for await (const message of store.subscribeToAll(asked)) {
          if (message.kind === 'caughtUp') {
            isLive = true;
            yield message;
            continue;
          }
          const next = withinBytes(message.events);
          if (next.isCut || next.events.length === size) {
            page = next;
            break;
          }
          place = placeOf(next.events) ?? place;
          yield { kind: 'events', events: next.events };
        }
        if (!page) return;
        // A subscriber that is behind subscribes again for each page, so that nothing that was cut off is kept.
        const { events } = page;
        if (isLive) yield { kind: 'fellBehind' };
        isLive = false;
        place = placeOf(events) ?? place;
        size = nextSize(page, size);
        yield { kind: 'events', events };
        // A reader at the end waits for new events; one that is not there yet first yields.
        await inTurn(async () => undefined, ended);
      }
    },
  };
}

interface Page {
  readonly events: readonly RecordedEvent[];
  /** The store had more, which must be read again. */
  readonly isCut: boolean;
}

/** The first events that are small enough together; always at least one. */
function withinBytes(events: readonly RecordedEvent[]): Page {
  let bytes = 0;
  const end = events.findIndex(({ type, data, metadata }, index) => {
    bytes += type.length + data.length + metadata.length;
    return index > 0 && bytes > PAGE_BYTES;
  });
  // Where a single event is as large, the store itself may have cut off its page behind it.
  return end < 0 ? { events, isCut: bytes > PAGE_BYTES } : { events: events.slice(0, end), isCut: true };
}

/** After a page that was cut, only as many as fitted, so that little is fetched in vain; then more again. */
const nextSize = ({ events, isCut }: Page, size: number): number =>
  isCut ? events.length : Math.min(2 * size, PAGE_SIZE);

function placeOf(events: readonly RecordedEvent[]): LogPlace | undefined {
  const last = events.at(-1);
  return last && { position: last.position, eventId: last.id };
}

async function firstOf(pages: EventPages): Promise<readonly RecordedEvent[]> {
  for await (const page of pages) return page;
  return [];
}

async function* none(): EventPages {}
