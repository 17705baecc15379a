/** Reads the log page by page, fetching the next page while one is handled. */
import { int8Array, type Pool, textArray } from '@coffer/database';
import { StoreRefusedError, StoreUnreachableError } from '../errors.ts';
import type {
  AppendRequest,
  EventPages,
  LogPlace,
  Position,
  ReadAllOptions,
  ReadStreamOptions,
  RecordedEvent,
  StreamHead,
  StreamTail,
} from '../port.ts';
import { createSpareRooms } from './binaryCopy.ts';
import { copyPage, copyTails, type LogPage } from './copiedPages.ts';
import { isOwnMistake, isRefused } from './failures.ts';
import {
  charactersOf,
  EVENT_COLUMNS,
  type EventRow,
  fillPage,
  PAGE_BYTES,
  pageQuery,
  recordedEvent,
  rowTypes,
} from './rows.ts';
import type { EventPage, PageNeed } from './sharedPages.ts';

export const PAGE_SIZE = 1_000;
/** A page after the first has as many events as fit, at the size of those before. */
const LARGEST_PAGE = 2_000;
/** A smaller page is read by a prepared statement, which need not be planned. */
const LEAST_COPIED = 250;
const LEAST_COPIED_TAILS = 16;
/** Of pages that are copied, for one that is handled, the next, and another reader's; most pages are of small events. */
const ROOMS_OF_PAGES = { most: 3, mostBytesEach: 2 * 1024 * 1024 };
/** A server silent for this long counts as away; otherwise a reader would wait for ever. */
const READ_TIMEOUT_MS = 15_000;
/** Larger than any revision or position. */
const BEYOND_ALL = '9223372036854775807';

type Direction = 'forwards' | 'backwards';

const LOG_PAGES = {
  forwards: pageQuery('position > $1', 'position'),
  backwards: pageQuery('position < $1', 'position desc'),
};
/** The place comes in addition: behind it there is an event in every page, however large the one at the place is. */
const PAGE_FROM = pageQuery('position >= $1', 'position', 'position > $1');

type NumberedRow = readonly [...EventRow, number: string];

const TAILS = `
  select tail.*, wanted.number
  from unnest($1::text[], $2::bigint[]) with ordinality as wanted(stream, revision, number)
  cross join lateral (
    select ${EVENT_COLUMNS} from log.events e
    where e.stream = wanted.stream and e.revision >= wanted.revision order by e.revision limit $3
  ) tail
  order by wanted.number, tail.revision`;

function eventsByNumber(rows: readonly NumberedRow[], count: number): readonly (readonly RecordedEvent[])[] {
  const found: RecordedEvent[][] = Array.from({ length: count }, () => []);
  for (const row of rows) found[Number(row[8]) - 1]?.push(recordedEvent(row));
  return found;
}

export function createLogReader(pool: Pool) {
  const { query, copied, tailsCopied } = createReads(pool);

  const streamPage = (direction: Direction, stream: string, from: string, limit: number) =>
    direction === 'forwards'
      ? query<EventRow>(
          'coffer-stream-forwards',
          `select ${EVENT_COLUMNS} from log.events where stream = $1 and revision >= $2 order by revision limit $3`,
          [stream, from, limit],
        )
      : query<EventRow>(
          'coffer-stream-backwards',
          `select ${EVENT_COLUMNS} from log.events where stream = $1 and revision <= $2 order by revision desc limit $3`,
          [stream, from, limit],
        );

  const logPage = (direction: Direction, from: string, limit: number) =>
    query<EventRow>(`coffer-log-${direction}`, LOG_PAGES[direction], [from, limit]);

  return {
    readStream(stream: string, options: ReadStreamOptions = {}): EventPages {
      const { direction = 'forwards', fromRevision, limit = Infinity } = options;
      const first =
        fromRevision === undefined && direction === 'backwards' ? BEYOND_ALL : `${fromRevision ?? 0}`;
      const step = direction === 'forwards' ? 1 : -1;
      return pages(limit, first, async (from, size) =>
        pageOf(
          await streamPage(direction, stream, from, size),
          size,
          ([, , revision]) => `${Number(revision) + step}`,
        ),
      );
    },

    readAll({ direction = 'forwards', from, limit = Infinity }: ReadAllOptions = {}): EventPages {
      const first = from ?? (direction === 'forwards' ? '0' : BEYOND_ALL);
      return pages(limit, first, async (after, size) => {
        const isCopied = direction === 'forwards' && size >= LEAST_COPIED;
        const page = isCopied ? await copied(after, size) : undefined;
        return page ?? pageOf(await logPage(direction, after, size), size, ([position]) => position);
      });
    },

    /** The given place comes first, if it still exists, then the events after it. */
    async pageFrom(
      after: LogPlace | undefined,
      pageSize: number,
      { expected, keepsBytes }: PageNeed,
    ): Promise<EventPage> {
      const size = after ? pageSize + 1 : pageSize;
      const before = after ? BigInt(after.position) - 1n : 0n;
      const page = expected >= LEAST_COPIED ? await copied(`${before}`, size) : undefined;
      if (page) {
        const { isFull, release } = page;
        return keepsBytes
          ? { events: page.events(), isFull, release }
          : { events: page.plainEvents(), isFull };
      }
      const rows = await query<EventRow>('coffer-log-from', PAGE_FROM, [`${before + 1n}`, size]);
      const isFull = rows.length === size || fillPage(rows.slice(1));
      return { events: rows.map(recordedEvent), isFull };
    },

    async head(): Promise<LogPlace | undefined> {
      const [row] = await query<readonly [string, string]>(
        'coffer-log-head',
        'select position, id from log.events order by position desc limit 1',
        [],
      );
      return row && { position: row[0] as Position, eventId: row[1] };
    },

    async placeAt(position: Position): Promise<LogPlace | undefined> {
      const [row] = await query<readonly [string]>(
        'coffer-log-place',
        'select id from log.events where position = $1',
        [position],
      );
      return row && { position, eventId: row[0] };
    },

    async heads(streams: readonly string[]): Promise<readonly (StreamHead | undefined)[]> {
      const rows = await query<readonly [string | null, string | null]>(
        'coffer-stream-heads',
        `select latest.revision, latest.id
         from unnest($1::text[]) with ordinality as wanted(stream, number)
         left join lateral (
           select revision, id from log.events e where e.stream = wanted.stream order by revision desc limit 1
         ) latest on true
         order by wanted.number`,
        [textArray(streams)],
      );
      return rows.map(([revision, eventId]) =>
        revision === null || eventId === null ? undefined : { revision: Number(revision), eventId },
      );
    },

    async readTails(
      tails: readonly StreamTail[],
      limit: number,
    ): Promise<readonly (readonly RecordedEvent[])[]> {
      if (tails.length >= LEAST_COPIED_TAILS) return tailsCopied(tails, limit);
      const rows = await query<NumberedRow>('coffer-stream-tails', TAILS, [
        textArray(tails.map(({ stream }) => stream)),
        int8Array(tails.map(({ fromRevision }) => fromRevision)),
        limit,
      ]);
      return eventsByNumber(rows, tails.length);
    },

    /** The position of the last of the request's events, if all are at the place they were meant for. */
    async findAppended({ stream, expectedRevision, events }: AppendRequest): Promise<Position | undefined> {
      if (expectedRevision === 'any' || expectedRevision === 'streamExists') return undefined;
      const first = expectedRevision === 'noStream' ? 0 : expectedRevision + 1;
      const rows = await streamPage('forwards', stream, `${first}`, events.length);
      const found = rows.map(recordedEvent);
      const isRetry =
        found.length === events.length &&
        events.every(({ id }, index) => found[index]?.id === id.toLowerCase());
      return isRetry ? found.at(-1)?.position : undefined;
    },
  };
}

/** What is asked of the database, with failures as readers know them. */
function createReads(pool: Pool) {
  const roomOfTails = createSpareRooms();
  const roomsOfPages = createSpareRooms(ROOMS_OF_PAGES);
  return {
    async query<Row extends readonly unknown[]>(
      name: string,
      text: string,
      values: readonly unknown[],
    ): Promise<readonly Row[]> {
      const timed = { name, text, values: [...values], types: rowTypes, query_timeout: READ_TIMEOUT_MS };
      const { rows } = await answered(() => pool.query<Row[]>({ ...timed, rowMode: 'array' }));
      // In array mode each row is the tuple of the selected columns.
      return rows as unknown as Row[];
    },

    copied: (after: string, limit: number) =>
      answered(() => copyPage(pool, roomsOfPages, { after, limit, timeoutMs: READ_TIMEOUT_MS })),

    async tailsCopied(tails: readonly StreamTail[], limit: number) {
      const within = { limit, room: roomOfTails.take(), timeoutMs: READ_TIMEOUT_MS };
      const { events, room } = await answered(() => copyTails(pool, tails, within));
      roomOfTails.giveBack(room);
      return events;
    },
  };
}

async function answered<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (cause) {
    if (isRefused(cause)) {
      throw new StoreRefusedError(`The user of DATABASE_URL may not read the log: ${cause.message}.`, {
        cause,
      });
    }
    if (isOwnMistake(cause)) throw cause;
    throw new StoreUnreachableError('The event store cannot be read.', { cause });
  }
}

function pageOf(rows: readonly EventRow[], size: number, nextFrom: (last: EventRow) => string): LogPage {
  const last = rows.at(-1);
  return {
    count: rows.length,
    bytes: charactersOf(rows),
    isFull: rows.length === size || fillPage(rows),
    nextFrom: last && nextFrom(last),
    events: () => rows.map(recordedEvent),
  };
}

/** Events have their bytes until the next page is asked for. */
async function* pages(
  limit: number,
  firstFrom: string,
  fetch: (from: string, size: number) => Promise<LogPage>,
): EventPages {
  let left = limit;
  let size = Math.min(left, PAGE_SIZE);
  let upcoming = left > 0 ? fetch(firstFrom, size) : undefined;
  while (upcoming) {
    const page: LogPage = await upcoming;
    const { count, bytes, isFull, nextFrom, events, release } = page;
    if (nextFrom === undefined) return;
    left -= count;
    const fitting = Math.floor((PAGE_BYTES * count) / Math.max(1, bytes));
    size = Math.min(left, Math.max(1, Math.min(fitting, LARGEST_PAGE)));
    upcoming = isFull && left > 0 ? fetch(nextFrom, size) : undefined;
    // It fails where it is awaited; a reader that stops before does not care.
    upcoming?.catch(() => undefined);
    yield events();
    release?.();
  }
}
