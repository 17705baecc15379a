import { given, type Queryable, rowsOf, sql } from '@coffer/database';
import { decodeCursor, encodeCursor, type Filter, type Page, type PageRequest } from './pages.ts';
import type { RowTable } from './rowTable.ts';
import { liveReadSchema } from './schema.ts';

/** One page of a table's rows that match the filter, by ordinal. Throws `request/invalid` for a cursor of another list. */
export async function listRows<Row>(
  db: Queryable,
  table: RowTable<Row>,
  order: 'newestFirst' | 'oldestFirst',
  filter: Filter,
  { limit, cursor }: PageRequest,
): Promise<Page<Row>> {
  const [after, direction] = order === 'newestFirst' ? (['<', 'desc'] as const) : (['>', 'asc'] as const);
  const query = sql(table.name)
    .withSchema(await liveReadSchema(db))
    .where(given(filter))
    .orderBy('ordinal', direction)
    // One extra row tells whether there is a next page.
    .limit(limit + 1);
  if (cursor !== undefined) {
    query.where('ordinal', after, decodeCursor(table.name, filter, cursor).toString());
  }
  const rows = await rowsOf(db, query);
  const shown = rows.slice(0, limit).map(table.decode);
  const last = shown.at(-1);
  return {
    items: shown.map(({ row }) => row),
    nextCursor: rows.length > limit && last ? encodeCursor(table.name, filter, last.ordinal) : null,
  };
}
