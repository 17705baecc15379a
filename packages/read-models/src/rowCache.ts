/** The rows that a projection folds over: read when needed, written back, and cached meanwhile. */
import type { Queryable } from '@coffer/database';
import type { RowTable, StoredRow } from './rowTable.ts';

/** Few rows change often: those of the sessions being played. The others are read when needed. */
const MAX_REMEMBERED_ROWS = 10_000;

export type RowCache<Row> = ReturnType<typeof createRowCache<Row>>;

/** Rows may be cached because nobody else writes them while the projection's consumer has its lease. */
export function createRowCache<Row>(schema: string, table: RowTable<Row>) {
  const remembered = new Map<string, StoredRow<Row>>();

  return {
    forget: () => remembered.clear(),

    async read(db: Queryable, keys: readonly string[]): Promise<Map<string, StoredRow<Row>>> {
      const unknown = keys.filter((key) => !remembered.has(key));
      const rows = unknown.length > 0 ? await table.read(db, schema, unknown) : new Map();
      for (const key of keys) {
        const row = remembered.get(key);
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
      if (remembered.size + numbered.length > MAX_REMEMBERED_ROWS) remembered.clear();
      for (const stored of numbered) remembered.set(table.keyOf(stored.row), stored);
    },
  };
}
