/**
 * Readers take turns at the store, a small page each, so that hundreds of them hold no more than a page each, and one
 * that reads the whole log leaves the process and the database to others in between. While the service is at work for
 * somebody else there is a pause before each page.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type {
  EventPages,
  EventStore,
  ReadAllOptions,
  ReadStreamOptions,
  RecordedEvent,
} from '@coffer/event-store';

export const PAGE_SIZE = 64;
/** So many pages are fetched at a time, for all readers together. */
const MAX_TURNS = 2;
const BUSY_PAUSE_MS = 50;

/** Runs the work when it is its turn; not at all when the signal has ended the read by then. */
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
      // The turn goes to whoever has waited longest.
      if (next) next();
      else taken -= 1;
    }
  };
}

/** The store as one read sees it: page by page, each in its turn, and none fetched ahead. */
export function inTurns(store: EventStore, inTurn: InTurn, ended: AbortSignal): EventStore {
  async function* pages(
    limit: number,
    fetch: (size: number, last: RecordedEvent | undefined) => EventPages,
  ): EventPages {
    let left = limit;
    let last: RecordedEvent | undefined;
    while (left > 0) {
      const size = Math.min(left, PAGE_SIZE);
      const page = (await inTurn(() => firstOf(fetch(size, last)), ended)) ?? [];
      if (page.length > 0) yield page;
      if (page.length < size) return;
      left -= page.length;
      last = page.at(-1);
    }
  }

  return {
    ...store,
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
    async *subscribeToAll(options) {
      const pageSize = Math.min(options.pageSize ?? PAGE_SIZE, PAGE_SIZE);
      for await (const message of store.subscribeToAll({ ...options, pageSize })) {
        yield message;
        // Who has reached the end waits for what comes; who has not gives way first.
        const isBehind = message.kind === 'events' && message.events.length === pageSize;
        if (isBehind) await inTurn(async () => undefined, ended);
      }
    },
  };
}

async function firstOf(pages: EventPages): Promise<readonly RecordedEvent[]> {
  for await (const page of pages) return page;
  return [];
}

async function* none(): EventPages {}
