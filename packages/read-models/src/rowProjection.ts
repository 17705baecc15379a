/** From events to rows: a pure function for each table, and the machinery that runs it over pages. */
import type { Projection } from '@coffer/consumers';
import type { Queryable } from '@coffer/database';
import type { RecordedEvent } from '@coffer/event-store';
import type { ProjectedRow, RowTable, StoredRow } from './rowTable.ts';

export interface RowProjection<Row extends ProjectedRow> {
  /** The key of the row that the event's stream makes; undefined for a stream that makes none here. */
  readonly keyOf: (event: RecordedEvent) => string | undefined;
  /** The row after the event; undefined before its stream's first. Pure; throws on what it cannot understand. */
  readonly evolve: (row: Row | undefined, event: RecordedEvent) => Row;
}

/** Rows are few that change often: those of the sessions played now. The others are read when they are needed. */
const MAX_REMEMBERED_ROWS = 10_000;

/**
 * Folds a page over the rows that it concerns, in memory, and writes those that changed. Rows that it has
 * written are remembered, as nobody else writes them while it has the lease.
 */
export function projectRows<Row extends ProjectedRow>(
  schema: string,
  table: RowTable<Row>,
  projection: RowProjection<Row>,
): Projection {
  const remembered = new Map<string, StoredRow<Row>>();
  return {
    forget: () => remembered.clear(),
    async apply(db, events) {
      const eventsByKey = Map.groupBy(events, projection.keyOf);
      const concerned = [...eventsByKey].filter((entry): entry is [string, RecordedEvent[]] => {
        return entry[0] !== undefined;
      });
      if (concerned.length === 0) return;

      const stored = await rowsOf(
        db,
        concerned.map(([key]) => key),
      );
      const folded = concerned.map(([key, ofRow]) => ({
        before: stored.get(key),
        row: foldRow(projection, stored.get(key)?.row, ofRow),
      }));
      const changed = folded.filter(({ before, row }) => row !== undefined && row !== before?.row);
      if (changed.length === 0) return;
      const rows = await numbered(db, changed);
      await table.write(db, schema, rows);
      if (remembered.size + rows.length > MAX_REMEMBERED_ROWS) remembered.clear();
      for (const row of rows) remembered.set(table.keyOf(row.row), row);
    },
  };

  async function rowsOf(db: Queryable, keys: readonly string[]): Promise<Map<string, StoredRow<Row>>> {
    const unknown = keys.filter((key) => !remembered.has(key));
    const rows = unknown.length > 0 ? await table.read(db, schema, unknown) : new Map();
    for (const key of keys) {
      const row = remembered.get(key);
      if (row) rows.set(key, row);
    }
    return rows;
  }

  /** A new row gets the next number: keys stand in the order in which they appear in the log. */
  async function numbered(
    db: Queryable,
    rows: readonly { readonly before: StoredRow<Row> | undefined; readonly row: Row | undefined }[],
  ): Promise<StoredRow<Row>[]> {
    const hasNew = rows.some(({ before }) => before === undefined);
    let last = hasNew ? await table.lastOrdinal(db, schema) : 0n;
    return rows.flatMap(({ before, row }) => {
      if (!row) return [];
      if (!before) last += 1n;
      return [{ row, ordinal: before?.ordinal ?? last }];
    });
  }
}

/**
 * Events that the row has seen are passed over, so that a page applied again changes nothing; one that does
 * not follow the last is a hole in the log or a row of another one, and is refused.
 */
export function foldRow<Row extends ProjectedRow>(
  projection: RowProjection<Row>,
  before: Row | undefined,
  events: readonly RecordedEvent[],
): Row | undefined {
  let row = before;
  for (const event of events) {
    const next = row === undefined ? 0 : row.revision + 1;
    if (event.revision < next) continue;
    if (event.revision > next) {
      throw new Error(`Revision ${event.revision} of ${event.stream} came where ${next} was to come.`);
    }
    row = projection.evolve(row, event);
  }
  return row;
}
