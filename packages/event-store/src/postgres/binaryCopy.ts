/**
 * Rows read by COPY in its binary format: bytes as they are stored. The driver would make a string of every value.
 * https://www.postgresql.org/docs/18/sql-copy.html, Binary Format
 */
import { type Pool, withConnection } from '@coffer/database';
import pg from 'pg';

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');
/** Behind the signature: the flags, and the length of the rest of the header. */
const HEADER_BYTES = SIGNATURE.length + 8;
/** In place of the number of columns. */
const TRAILER = -1;
export const TRAILER_BYTES = 2;
const LENGTH_BYTES = 4;
export const INT8_BYTES = 8;

export interface CopiedRows {
  readonly count: number;
  readonly page: Buffer;
  /** What holds the page: the memory given, or a larger one. */
  readonly room: Buffer;
}

export interface CopyOptions {
  readonly room: Buffer;
  readonly timeoutMs: number;
  readonly maximumBytes?: number;
}

/** They were more than the maximum. */
export class TooManyBytesError extends Error {}

/**
 * The rows of a query, in the memory given as long as they fit. Throws `TooManyBytesError`: the connection is closed
 * then, which is the only way to be sent no more.
 */
export function copyRows(pool: Pool, query: string, options: CopyOptions): Promise<CopiedRows> {
  const text = `copy (${query}) to stdout (format binary)`;
  return withConnection(
    pool,
    (client) =>
      new Promise((resolve, reject) => {
        const callback: Callback = (error, rows) => (rows ? resolve(rows) : reject(error));
        client.query(new Copy(text, options, callback));
      }),
  );
}

/** Without a share in the pool of small buffers, which it would keep alive. */
export const roomFor = (bytes: number): Buffer => Buffer.allocUnsafeSlow(bytes);

type Callback = (error: Error | undefined, rows?: CopiedRows) => void;

/** What the driver takes instead of a query. */
class Copy implements pg.Submittable {
  /** The driver looks at both. */
  readonly query_timeout: number;
  readonly callback: Callback;
  readonly #text: string;
  readonly #maximumBytes: number;
  #room: Buffer;
  #length = 0;
  #count = 0;

  constructor(text: string, { room, timeoutMs, maximumBytes = Infinity }: CopyOptions, callback: Callback) {
    this.#text = text;
    this.#maximumBytes = maximumBytes;
    this.#room = room;
    this.query_timeout = timeoutMs;
    this.callback = callback;
  }

  submit(connection: pg.Connection): void {
    connection.query(this.#text);
  }

  /** The driver uses the memory of a chunk again. */
  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    const length = this.#length + chunk.length;
    if (length > this.#maximumBytes) {
      this.callback(new TooManyBytesError(`The rows are more than ${this.#maximumBytes} bytes.`));
      return;
    }
    if (length > this.#room.length) this.#grow(length);
    this.#room.set(chunk, this.#length);
    this.#length = length;
  }

  #grow(length: number): void {
    const larger = roomFor(Math.max(length, 2 * this.#room.length));
    larger.set(this.#room.subarray(0, this.#length));
    this.#room = larger;
  }

  handleError(error: Error): void {
    this.callback(error);
  }

  /** `COPY <count>` */
  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#count = Number(text.slice('COPY '.length));
  }

  handleReadyForQuery(): void {
    const page = this.#room.subarray(0, this.#length);
    this.callback(undefined, { count: this.#count, page, room: this.#room });
  }
}

export const LEAST_ROOM_BYTES = 64 * 1024;
/** Most answers are below 4 MiB, and memory that is full is doubled; a single row may be larger. */
const MOST_ROOM_KEPT_BYTES = 8 * 1024 * 1024;

export interface SpareRooms {
  /** Nobody else is given it until it is given back. A new one has so many bytes. */
  readonly take: (bytes?: number) => Buffer;
  /** Once nothing refers to it any longer. */
  readonly giveBack: (room: Buffer) => void;
}

/** Memory for one answer after another: made anew each time, it would be for the collector to clear away. */
export function createSpareRooms({ most = 1, mostBytesEach = MOST_ROOM_KEPT_BYTES } = {}): SpareRooms {
  const spare: Buffer[] = [];
  return {
    take: (bytes = LEAST_ROOM_BYTES) => spare.pop() ?? roomFor(bytes),
    giveBack(room) {
      if (spare.length < most && room.length <= mostBytesEach) spare.push(room);
    },
  };
}

/** COPY takes no parameters. */
export const arrayOfTexts = (values: readonly string[]): string =>
  `array[${values.map(literalOf).join()}]::text[]`;

/** The driver builds a literal character by character: where nothing is to be escaped, that is not worth its time. */
const literalOf = (text: string): string => (/['\\]/.test(text) ? pg.escapeLiteral(text) : `'${text}'`);

export const arrayOfIntegers = (values: readonly number[]): string =>
  `array[${values.map(Math.trunc).join()}]::bigint[]`;

/** Reads each row from its first column on; `read` returns where the row ends. */
export function readRows(page: Buffer, columns: number, read: (view: DataView, row: number) => number): void {
  if (!page.subarray(0, SIGNATURE.length).equals(SIGNATURE)) throw unreadable();
  const view = viewOf(page);
  let offset = HEADER_BYTES + view.getInt32(HEADER_BYTES - LENGTH_BYTES);
  for (;;) {
    const found = view.getInt16(offset);
    if (found === TRAILER) return;
    if (found !== columns) throw unreadable();
    offset = read(view, offset + 2);
  }
}

/** Where the value begins whose length stands here. */
export function valueAt(view: DataView, at: number, bytes?: number): number {
  const length = view.getInt32(at);
  // Negative for null, which no column may be.
  if (length < 0 || (bytes !== undefined && length !== bytes)) throw unreadable();
  return at + LENGTH_BYTES;
}

/** The length of the value that begins here. */
export const lengthOf = (view: DataView, value: number): number => view.getInt32(value - LENGTH_BYTES);

const unreadable = () => new Error('The database has sent rows in another form than expected.');

export const viewOf = ({ buffer, byteOffset, length }: Buffer) => new DataView(buffer, byteOffset, length);

/** Exact up to 2^53. */
export const integerAt = (view: DataView, at: number): number =>
  view.getInt32(at) * 2 ** 32 + view.getUint32(at + 4);

export function integerText(view: DataView, at: number): string {
  const value = integerAt(view, at);
  return Number.isSafeInteger(value) ? String(value) : String(view.getBigInt64(at));
}
