/** From events to rows: a pure function for each table, and the machinery that runs it over pages. */
import type { Projection } from '@coffer/consumers';
import type { RecordedEvent } from '@coffer/event-store';
import { createRowCache } from './rowCache.ts';
import type { RowTable } from './rowTable.ts';

/** What a row of a stream has: the revision of the last event that is in it. */
export interface StreamRow {
  readonly revision: number;
}

export interface RowProjection<Row extends StreamRow> {
  /** The key of the row that the event's stream makes; undefined for a stream that makes none here. */
  readonly keyOf: (event: RecordedEvent) => string | undefined;
  /** The row after the event; undefined before its stream's first. Pure; throws on what it cannot understand. */
  readonly evolve: (row: Row | undefined, event: RecordedEvent) => Row;
}

/** Folds a page over the rows that it concerns, in memory, and writes those that changed. */
export function projectRows<Row extends StreamRow>(
  schema: string,
  table: RowTable<Row>,
  projection: RowProjection<Row>,
): Projection {
  const cache = createRowCache(schema, table);
  return {
    forget: cache.forget,
    async apply(db, events) {
      const eventsByKey = Map.groupBy(events, projection.keyOf);
      const concerned = [...eventsByKey].filter((entry): entry is [string, RecordedEvent[]] => {
        return entry[0] !== undefined;
      });
      if (concerned.length === 0) return;

      const keys = concerned.map(([key]) => key);
      const before = await cache.read(db, keys);
      const changed = concerned.flatMap(([key, ofRow]) => {
        const known = before.get(key)?.row;
        const row = foldRow(projection, known, ofRow);
        return row === undefined || row === known ? [] : [row];
      });
      await cache.write(db, before, changed);
    },
    async pass(db, event) {
      const key = projection.keyOf(event);
      if (key === undefined) return;
      const before = await cache.read(db, [key]);
      const row = before.get(key)?.row;
      if (row && row.revision < event.revision)
        await cache.write(db, before, [{ ...row, revision: event.revision }]);
    },
  };
}

/** Events that the row has seen are passed over, so that a page applied again changes nothing. */
export function foldRow<Row extends StreamRow>(
  projection: RowProjection<Row>,
  before: Row | undefined,
  events: readonly RecordedEvent[],
): Row | undefined {
  let row = before;
  for (const event of events) {
    if (isNewTo(row, event)) row = projection.evolve(row, event);
  }
  return row;
}

/**
 * Whether the event is the next of its row's stream; false for one that the row has seen. Throws on one that
 * does not follow the last: a hole in the log, or a row of another one.
 */
export function isNewTo(row: StreamRow | undefined, { revision, stream }: RecordedEvent): boolean {
  const next = row === undefined ? 0 : row.revision + 1;
  if (revision > next) throw new Error(`Revision ${revision} of ${stream} came where ${next} was to come.`);
  return revision === next;
}
