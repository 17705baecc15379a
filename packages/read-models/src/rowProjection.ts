/** From events to rows: a pure function per table, and the machinery that runs it over pages. */
import { inTurns, type Projection } from '@coffer/consumers';
import type { RecordedEvent } from '@coffer/event-store';
import { createRowCache } from './rowCache.ts';
import type { RowTable } from './rowTable.ts';

/** Common to all rows of a stream: the revision of the last event applied. */
export interface StreamRow {
  readonly revision: number;
}

export interface RowProjection<Row extends StreamRow> {
  /** The key of the row for the event's stream; undefined for a stream without a row here. */
  readonly keyOf: (event: RecordedEvent) => string | undefined;
  /** The row after the event; undefined before the stream's first. Pure; throws on what it cannot understand. */
  readonly evolve: (row: Row | undefined, event: RecordedEvent) => Row;
}

/** Folds a page over the affected rows, in memory, and writes the changed ones. */
export function projectRows<Row extends StreamRow>(
  schema: string,
  table: RowTable<Row>,
  projection: RowProjection<Row>,
): Projection {
  const cache = createRowCache(schema, table);
  return {
    forget: cache.forget,
    async apply(db, events) {
      cache.passed(events.length);
      const concerned = events.flatMap((event) => {
        const key = projection.keyOf(event);
        return key === undefined ? [] : [{ key, event }];
      });
      if (concerned.length === 0) return;

      const before = await cache.read(db, [...new Set(concerned.map(({ key }) => key))]);
      const changed = new Map<string, Row>();
      for await (const part of inTurns(concerned)) {
        for (const { key, event } of part) {
          const known = changed.get(key) ?? before.get(key)?.row;
          const row = foldRow(projection, known, [event]);
          if (row !== undefined && row !== known) changed.set(key, row);
        }
      }
      await cache.write(db, before, [...changed.values()]);
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

/** Skips events that the row has seen, so that a page applied again changes nothing. */
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
 * does not follow the last: a gap in the log, or a row of another log.
 */
export function isNewTo(row: StreamRow | undefined, { revision, stream }: RecordedEvent): boolean {
  const next = row === undefined ? 0 : row.revision + 1;
  if (revision > next) throw new Error(`Revision ${revision} of ${stream} came where ${next} was expected.`);
  return revision === next;
}
