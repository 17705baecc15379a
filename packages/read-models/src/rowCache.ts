/** The rows that a projection folds over: read when needed, written back, and cached meanwhile. */
import type { Queryable } from '@coffer/database';
import type { RowChange, RowTable, StoredRow } from './rowTable.ts';

/** Few rows change often: those of the sessions being played. The others are read when needed. */
const MOST_ROWS = 10_000;
/** A row that was not written for so many is of a session that ended, or rests. */
const EVENTS_A_GENERATION = 20_000;

export type RowCache<Row> = ReturnType<typeof createRowCache<Row>>;

/** Rows may be cached because nobody else writes them while the projection's consumer has its lease. */
export function createRowCache<Row>(schema: string, table: RowTable<Row>) {
  let recent = new Map<string, StoredRow<Row>>();
  let former: typeof recent = new Map();
  let events = 0;

  const beginGeneration = () => {
    former = recent;
    recent = new Map();
    events = 0;
  };

  return {
    forget() {
      beginGeneration();
      beginGeneration();
    },

    /** Called with the number of events of each page, whether or not they concern the table. */
    passed(count: number): void {
      events += count;
      if (events >= EVENTS_A_GENERATION) beginGeneration();
    },

    async read(db: Queryable, keys: readonly string[]): Promise<Map<string, StoredRow<Row>>> {
      const known = (key: string) => recent.get(key) ?? former.get(key);
      const unknown = keys.filter((key) => !known(key));
      const rows = unknown.length > 0 ? await table.read(db, schema, unknown) : new Map();
      for (const key of keys) {
        const row = known(key);
        if (row) rows.set(key, row);
      }
      return rows;
    },

    /** A new row gets the next ordinal: rows are numbered in the order of the log. */
    async write(
      db: Queryable,
      before: ReadonlyMap<string, StoredRow<Row>>,
      rows: readonly Row[],
    ): Promise<void> {
      if (rows.length === 0) return;
      const created: StoredRow<Row>[] = [];
      const changed: RowChange<Row>[] = [];
      const stored = new Map<string, StoredRow<Row>>();
      let last: bigint | undefined;
      for (const row of rows) {
        const key = table.keyOf(row);
        const known = before.get(key);
        if (known) {
          changed.push({ from: known.row, to: row });
          stored.set(key, { row, ordinal: known.ordinal });
        } else {
          last = (last ?? (await table.lastOrdinal(db, schema))) + 1n;
          created.push({ row, ordinal: last });
          stored.set(key, { row, ordinal: last });
        }
      }
      await table.write(db, schema, created);
      await table.update(db, schema, changed);
      for (const [key, one] of stored) {
        former.delete(key);
        recent.set(key, one);
      }
      if (recent.size + former.size > MOST_ROWS) beginGeneration();
    },
  };
}
