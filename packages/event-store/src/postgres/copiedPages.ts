/**
 * Long pages of the log and many tails of streams, read by COPY in its binary format. The driver would make a string of every value, which takes
 * three times as long, and the bytes would be gone that the chain of hashes covers.
 */
import { type Pool, UUID_BYTES, uuidText } from '@coffer/database';
import { EncodedEvent, type PageBytes } from '../encodedEvent.ts';
import type { Position, RecordedEvent, StreamTail } from '../port.ts';
import {
  arrayOfIntegers,
  arrayOfTexts,
  type CopiedRows,
  copyRows,
  INT8_BYTES,
  integerAt,
  integerText,
  lengthOf,
  readRows,
  type SpareRooms,
  TooManyBytesError,
  TRAILER_BYTES,
  valueAt,
  viewOf,
} from './binaryCopy.ts';

/** As an `EncodedEvent` has them from the id to the metadata; the position is last, so that a page ends with it. */
const COLUMNS = 'created, revision, id, stream, type, data, metadata, position';
const COLUMN_COUNT = 8;
const YEAR_2000_MS = Date.UTC(2000, 0, 1);

/** Room for each event of a page, to begin with: more than most need. */
const ROOM_BYTES = 512;

/** Of a page that is copied: twice what a page of larger events has. */
const MOST_BYTES = 8 * 1024 * 1024;

/** As it was read: its events are made when they are asked for. */
export interface LogPage {
  readonly count: number;
  readonly bytes: number;
  /** Whether there may be more. */
  readonly isFull: boolean;
  /** Where the next page begins; undefined for a page without events. */
  readonly nextFrom: string | undefined;
  readonly events: () => readonly RecordedEvent[];
  /** The bytes from which the events were made are no longer needed. */
  readonly release?: () => void;
}

export interface CopiedPage extends LogPage {
  /** Without the bytes of the page, which are released. */
  readonly plainEvents: () => readonly RecordedEvent[];
  readonly release: () => void;
}

/**
 * At most so many events after a position; undefined if they are too large for one page. To have the database add up
 * their sizes would cost a third more for every page, and nearly all are of small events.
 */
export async function copyPage(
  pool: Pool,
  rooms: SpareRooms,
  { after, limit, timeoutMs }: { readonly after: string; readonly limit: number; readonly timeoutMs: number },
): Promise<CopiedPage | undefined> {
  // Numbers, so that they need no quoting: COPY takes no parameters.
  const [from, most] = [BigInt(after), Math.trunc(limit)];
  const query = `select ${COLUMNS} from log.events where position > ${from} order by position limit ${most}`;
  let copied: CopiedRows;
  try {
    copied = await copyRows(pool, query, {
      room: rooms.take(limit * ROOM_BYTES),
      timeoutMs,
      maximumBytes: MOST_BYTES,
    });
  } catch (error) {
    if (error instanceof TooManyBytesError) return undefined;
    throw error;
  }
  const { count, page, room } = copied;
  const bytes: PageBytes = { held: page };
  const release = () => {
    // Once only: the memory may be somebody else's by then.
    if (bytes.held) rooms.giveBack(room);
    bytes.held = undefined;
  };
  return {
    count,
    bytes: page.length,
    isFull: count === most,
    nextFrom: count > 0 ? integerText(viewOf(page), page.length - TRAILER_BYTES - INT8_BYTES) : undefined,
    events: () => eventsIn(page, (event, from, to) => new EncodedEvent(event, bytes, from, to)),
    plainEvents() {
      const events = eventsIn(page, plainEvent);
      release();
      return events;
    },
    release,
  };
}

type MakeEvent = (event: RecordedEvent, from: number, to: number) => RecordedEvent;

const plainEvent: MakeEvent = (event) => event;

function eventsIn(page: Buffer, make: MakeEvent): readonly RecordedEvent[] {
  const events: RecordedEvent[] = [];
  const values = repeatedValues(page);
  readRows(page, COLUMN_COUNT, (view, row) => addEvent(events, make, page, values, view, row));
  return events;
}

/** At most so many events of each, without the bytes of the answer, whose memory is given back as `room`. */
export async function copyTails(
  pool: Pool,
  tails: readonly StreamTail[],
  { limit, ...within }: { readonly limit: number; readonly room: Buffer; readonly timeoutMs: number },
): Promise<{ readonly events: readonly (readonly RecordedEvent[])[]; readonly room: Buffer }> {
  const streams = arrayOfTexts(tails.map(({ stream }) => stream));
  const revisions = arrayOfIntegers(tails.map(({ fromRevision }) => fromRevision));
  const { page, room } = await copyRows(
    pool,
    `select wanted.number, tail.*
       from unnest(${streams}, ${revisions}) with ordinality as wanted(stream, revision, number)
      cross join lateral (
        select ${COLUMNS} from log.events e
         where e.stream = wanted.stream and e.revision >= wanted.revision order by e.revision limit ${Math.trunc(limit)}
      ) tail
      order by wanted.number, tail.revision`,
    within,
  );
  const found: RecordedEvent[][] = tails.map(() => []);
  const values = repeatedValues(page);
  readRows(page, COLUMN_COUNT + 1, (view, row) => {
    const number = valueAt(view, row, INT8_BYTES);
    const events = found[integerAt(view, number) - 1] ?? [];
    return addEvent(events, plainEvent, page, values, view, number + INT8_BYTES);
  });
  return { events: found, room };
}

/** Returns where the next row begins. */
function addEvent(
  events: RecordedEvent[],
  make: MakeEvent,
  page: Buffer,
  values: RepeatedValues,
  view: DataView,
  row: number,
): number {
  const created = valueAt(view, row, INT8_BYTES);
  const revision = valueAt(view, created + INT8_BYTES, INT8_BYTES);
  const id = valueAt(view, revision + INT8_BYTES, UUID_BYTES);
  const stream = valueAt(view, id + UUID_BYTES);
  const streamEnd = stream + lengthOf(view, stream);
  const type = valueAt(view, streamEnd);
  const typeEnd = type + lengthOf(view, type);
  const data = valueAt(view, typeEnd);
  const dataEnd = data + lengthOf(view, data);
  const metadata = valueAt(view, dataEnd);
  const metadataEnd = metadata + lengthOf(view, metadata);
  const position = valueAt(view, metadataEnd, INT8_BYTES);
  const event = {
    // The store's own positions are the column as decimal text.
    position: integerText(view, position) as Position,
    stream: values.stream(view, stream, streamEnd),
    revision: integerAt(view, revision),
    id: uuidText(page, id),
    type: values.type(view, type, typeEnd),
    data: textAt(page, data, dataEnd),
    metadata: values.metadata(view, metadata, metadataEnd),
    recordedAt: values.time(view, created),
  };
  events.push(make(event, id, metadataEnd));
  return position + INT8_BYTES;
}

const textAt = (page: Buffer, from: number, to: number): string => page.toString('utf8', from, to);

type RepeatedValues = ReturnType<typeof repeatedValues>;

/**
 * What rows have in common with the one before, such as those of one request: made once, it is no garbage, and a name that
 * was looked up is found faster.
 */
function repeatedValues(page: Buffer) {
  return {
    stream: repeatedText(page),
    type: repeatedText(page),
    metadata: repeatedText(page),
    time: repeatedTime(),
  };
}

function repeatedText(page: Buffer): (view: DataView, from: number, to: number) => string {
  let [last, lastFrom, lastBytes] = ['', 0, 0];
  return (view, from, to) => {
    if (to - from !== lastBytes || !areSame(view, from, lastFrom, lastBytes)) {
      last = textAt(page, from, to);
      [lastFrom, lastBytes] = [from, to - from];
    }
    return last;
  };
}

/** From the end, in which most that differ do. */
function areSame(view: DataView, from: number, otherFrom: number, bytes: number): boolean {
  let left = bytes;
  for (; left >= 4; left -= 4) {
    if (view.getInt32(from + left - 4) !== view.getInt32(otherFrom + left - 4)) return false;
  }
  for (; left > 0; left--) {
    if (view.getInt8(from + left - 1) !== view.getInt8(otherFrom + left - 1)) return false;
  }
  return true;
}

/** Microseconds since 2000. */
function repeatedTime(): (view: DataView, at: number) => Date {
  let last = new Date(YEAR_2000_MS);
  let lastMicroseconds = 0;
  return (view, at) => {
    const microseconds = integerAt(view, at);
    if (microseconds !== lastMicroseconds) {
      last = new Date(YEAR_2000_MS + Math.floor(microseconds / 1_000));
      lastMicroseconds = microseconds;
    }
    return last;
  };
}
