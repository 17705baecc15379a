/**
 * Long pages of the log, read by COPY in its binary format. The driver would make a string of every value, which takes
 * three times as long, and the bytes would be gone that the chain of hashes covers.
 * https://www.postgresql.org/docs/18/sql-copy.html, Binary Format
 */
import { type Pool, withConnection } from '@coffer/database';
import type pg from 'pg';
import { EncodedEvent } from '../encodedEvent.ts';
import type { Position, RecordedEvent } from '../port.ts';

/** As an `EncodedEvent` has them from the id to the metadata; the position is last, so that a page ends with it. */
const COLUMNS = 'created, revision, id, stream, type, data, metadata, position';
const COLUMN_COUNT = 8;
const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');
/** Behind the signature: the flags, and the length of the rest of the header. */
const HEADER_BYTES = SIGNATURE.length + 8;
/** In place of the number of columns. */
const TRAILER = -1;
const TRAILER_BYTES = 2;
const LENGTH_BYTES = 4;
const INT8_BYTES = 8;
const UUID_BYTES = 16;
const YEAR_2000_MS = Date.UTC(2000, 0, 1);

/** Room for each event of a page, to begin with: more than most need. */
const ROOM_BYTES = 512;

/** As it was read: its events are made when they are asked for. */
export interface LogPage {
  readonly count: number;
  readonly bytes: number;
  /** Where the next page begins; undefined for a page without events. */
  readonly nextFrom: string | undefined;
  readonly events: () => readonly RecordedEvent[];
}

/** At most so many events after a position. */
export async function copyPage(
  pool: Pool,
  { after, limit, timeoutMs }: { readonly after: string; readonly limit: number; readonly timeoutMs: number },
): Promise<LogPage> {
  // Numbers, so that they need no quoting: COPY takes no parameters.
  const [from, count] = [BigInt(after), Math.trunc(limit)];
  const rows = `select ${COLUMNS} from log.events where position > ${from} order by position limit ${count}`;
  const text = `copy (${rows}) to stdout (format binary)`;
  return withConnection(
    pool,
    (client) =>
      new Promise((resolve, reject) => {
        const callback: Callback = (error, page) => (page ? resolve(page) : reject(error));
        client.query(new Copy(text, limit * ROOM_BYTES, timeoutMs, callback));
      }),
  );
}

type Callback = (error: Error | undefined, page?: LogPage) => void;

/** What the driver takes instead of a query. */
class Copy implements pg.Submittable {
  /** The driver looks at both. */
  readonly query_timeout: number;
  readonly callback: Callback;
  readonly #text: string;
  #bytes: Buffer;
  #length = 0;
  #count = 0;

  constructor(text: string, roomBytes: number, timeoutMs: number, callback: Callback) {
    this.#text = text;
    this.#bytes = Buffer.allocUnsafeSlow(roomBytes);
    this.query_timeout = timeoutMs;
    this.callback = callback;
  }

  submit(connection: pg.Connection): void {
    connection.query(this.#text);
  }

  /** The driver uses the memory of a chunk again. */
  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    const length = this.#length + chunk.length;
    if (length > this.#bytes.length) this.#grow(length);
    this.#bytes.set(chunk, this.#length);
    this.#length = length;
  }

  #grow(length: number): void {
    const larger = Buffer.allocUnsafeSlow(2 * length);
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }

  handleError(error: Error): void {
    this.callback(error);
  }

  /** `COPY <count>` */
  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#count = Number(text.slice('COPY '.length));
  }

  handleReadyForQuery(): void {
    const page = this.#bytes.subarray(0, this.#length);
    const view = viewOf(page);
    this.callback(undefined, {
      count: this.#count,
      bytes: page.length,
      nextFrom: this.#count > 0 ? integerText(view, page.length - TRAILER_BYTES - INT8_BYTES) : undefined,
      events: () => eventsIn(page),
    });
  }
}

function eventsIn(page: Buffer): readonly RecordedEvent[] {
  if (!page.subarray(0, SIGNATURE.length).equals(SIGNATURE)) throw unreadable();
  const view = viewOf(page);
  const events: RecordedEvent[] = [];
  let offset = HEADER_BYTES + view.getInt32(HEADER_BYTES - 4);
  for (;;) {
    const columns = view.getInt16(offset);
    if (columns === TRAILER) return events;
    if (columns !== COLUMN_COUNT) throw unreadable();
    offset = addEvent(events, page, view, offset + 2);
  }
}

/** Returns where the next row begins. */
function addEvent(events: RecordedEvent[], page: Buffer, view: DataView, row: number): number {
  const created = valueAt(view, row, INT8_BYTES);
  const revision = valueAt(view, created + INT8_BYTES, INT8_BYTES);
  const id = valueAt(view, revision + INT8_BYTES, UUID_BYTES);
  const stream = valueAt(view, id + UUID_BYTES);
  const streamEnd = stream + view.getInt32(stream - LENGTH_BYTES);
  const type = valueAt(view, streamEnd);
  const typeEnd = type + view.getInt32(type - LENGTH_BYTES);
  const data = valueAt(view, typeEnd);
  const dataEnd = data + view.getInt32(data - LENGTH_BYTES);
  const metadata = valueAt(view, dataEnd);
  const metadataEnd = metadata + view.getInt32(metadata - LENGTH_BYTES);
  const position = valueAt(view, metadataEnd, INT8_BYTES);
  const event = {
    // The store's own positions are the column as decimal text.
    position: integerText(view, position) as Position,
    stream: textAt(page, stream, streamEnd),
    revision: integerAt(view, revision),
    id: uuidText(page, id),
    type: textAt(page, type, typeEnd),
    data: textAt(page, data, dataEnd),
    metadata: textAt(page, metadata, metadataEnd),
    recordedAt: timeAt(view, created),
  };
  events.push(new EncodedEvent(event, page, id, metadataEnd));
  return position + INT8_BYTES;
}

const textAt = (page: Buffer, from: number, to: number): string => page.toString('utf8', from, to);

/** Where the value begins whose length stands here. */
function valueAt(view: DataView, at: number, bytes?: number): number {
  const length = view.getInt32(at);
  // Negative for null, which no column may be.
  if (length < 0 || (bytes !== undefined && length !== bytes)) throw unreadable();
  return at + LENGTH_BYTES;
}

const unreadable = () => new Error('The database has sent rows of the log in another form than expected.');

const viewOf = ({ buffer, byteOffset, length }: Buffer) => new DataView(buffer, byteOffset, length);

/** Exact up to 2^53. */
const integerAt = (view: DataView, at: number): number =>
  view.getInt32(at) * 2 ** 32 + view.getUint32(at + 4);

function integerText(view: DataView, at: number): string {
  const value = integerAt(view, at);
  return Number.isSafeInteger(value) ? String(value) : String(view.getBigInt64(at));
}

/** Microseconds since 2000. */
const timeAt = (view: DataView, at: number): Date =>
  new Date(YEAR_2000_MS + Math.floor(integerAt(view, at) / 1_000));

/** The digits of every byte. */
const DIGITS = Buffer.from(Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)).toString('hex'));
const TEXT = Buffer.from('00000000-0000-0000-0000-000000000000');
const PLACES = [...TEXT.keys()].filter((place) => TEXT[place] === DIGITS[0]);

/** Written digit by digit: the pieces of a text in hexadecimal would have to be joined. */
function uuidText(page: Buffer, at: number): string {
  for (let byte = 0; byte < UUID_BYTES; byte++) {
    const digits = 2 * (page[at + byte] ?? 0);
    const place = PLACES[2 * byte] ?? 0;
    TEXT[place] = DIGITS[digits] ?? 0;
    TEXT[place + 1] = DIGITS[digits + 1] ?? 0;
  }
  return TEXT.toString('latin1');
}
