/** Rows of the log as the driver gives them in array mode, and events made of them. */
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

export function recordedEvent(row: EventRow): RecordedEvent {
  return {
    // The store's own positions are the decimal text of the column.
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
