/** Rows of the log as the driver returns them in array mode, and the events made from them. */
import pg from 'pg';
import type { Position, RecordedEvent } from '../port.ts';

export type EventRow = readonly [
  position: string,
  stream: string,
  revision: string,
  id: string,
  type: string,
  data: string,
  metadata: string,
  created: Date,
];

export const EVENT_COLUMNS = 'position, stream, revision, id, type, data, metadata, created';

/** A page ends behind the event that fills it. */
export const PAGE_BYTES = 4 * 1024 * 1024;

/**
 * At most $2 events in the order of a column, or as many as fill a page. Sizes are told without reading the values.
 * Those that are not `counted` are given in addition.
 */
export const pageQuery = (where: string, order: string, counted = 'true'): string => `
  select ${EVENT_COLUMNS} from (
    select ${EVENT_COLUMNS},
      sum(octet_length(type) + octet_length(data) + octet_length(metadata)) filter (where ${counted})
        over (order by ${order} rows between unbounded preceding and 1 preceding) as bytes_before
      from log.events where ${where} order by ${order} limit $2
  ) page
  where bytes_before is null or bytes_before < ${PAGE_BYTES}
  order by ${order}`;

/** Whether the database may have cut off a page behind these. */
export function fillPage(rows: readonly EventRow[]): boolean {
  // A character has three bytes at most, so that those of small events need not be counted.
  if (3 * charactersOf(rows) < PAGE_BYTES) return false;
  let bytes = 0;
  for (const [, , , , type, data, metadata] of rows) {
    bytes += Buffer.byteLength(type) + Buffer.byteLength(data) + Buffer.byteLength(metadata);
  }
  return bytes >= PAGE_BYTES;
}

export const charactersOf = (rows: readonly EventRow[]): number =>
  rows.reduce((sum, [, , , , type, data, metadata]) => sum + type.length + data.length + metadata.length, 0);

/** What follows the columns of an event is passed over. */
export function recordedEvent(row: readonly [...EventRow, ...unknown[]]): RecordedEvent {
  return {
    // The store's own positions are the column as decimal text.
    position: row[0] as Position,
    stream: row[1],
    revision: Number(row[2]),
    id: row[3],
    type: row[4],
    data: row[5],
    metadata: row[6],
    recordedAt: row[7],
  };
}

/** https://www.postgresql.org/docs/18/catalog-pg-type.html */
const TIMESTAMPTZ_OID = 1184;

/** The driver's parsers except for times: every event has one, and in UTC they need no parsing by parts. */
export const rowTypes: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === TIMESTAMPTZ_OID ? timeInUtc : pg.types.getTypeParser(oid, format as 'text'),
};

/** The last second seen: neighbours in the log mostly share it. */
let second = { text: '', ms: 0 };
const TO_THE_SECOND = 'yyyy-mm-dd hh:mm:ss'.length;

/** `2026-01-31 12:00:00.123456+00`, as the read connections are set to format it. */
function timeInUtc(text: string): Date {
  const upToSecond = text.slice(0, TO_THE_SECOND);
  if (upToSecond !== second.text) {
    second = { text: upToSecond, ms: Date.parse(`${text.slice(0, 10)}T${text.slice(11, TO_THE_SECOND)}Z`) };
  }
  const fraction = text.slice(TO_THE_SECOND + 1, -3);
  return new Date(second.ms + Number(fraction.slice(0, 3).padEnd(3, '0')));
}
