/** The rows that a projection folds over: read when needed, written back, and cached meanwhile. */
import type { Queryable } from '@coffer/database';
import type { RowTable, StoredRow } from './rowTable.ts';

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
      const hasNew = rows.some((row) => !before.has(table.keyOf(row)));
      let last = hasNew ? await table.lastOrdinal(db, schema) : 0n;
      const numbered = rows.map((row) => {
        const known = before.get(table.keyOf(row));
        if (!known) last += 1n;
        return { row, ordinal: known?.ordinal ?? last };
      });
      await table.write(db, schema, numbered);
      for (const stored of numbered) {
        const key = table.keyOf(stored.row);
        former.delete(key);
        recent.set(key, stored);
      }
      if (recent.size + former.size > MOST_ROWS) beginGeneration();
    },
  };
}
