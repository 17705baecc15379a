import type { Queryable } from '@coffer/database';
import { decodeCursor, encodeCursor, type Filter, type Page, type PageRequest } from './pages.ts';
import type { RowTable } from './rowTable.ts';
import { liveReadSchema } from './schema.ts';

/** One page of a table's rows that match the filter, by their number. Throws `InvalidCursorError`. */
export async function listRows<Row>(
  db: Queryable,
  table: RowTable<Row>,
  order: 'newestFirst' | 'oldestFirst',
  filter: Filter,
  { limit, cursor }: PageRequest,
): Promise<Page<Row>> {
  const conditions: string[] = [];
  const values: unknown[] = [];
  for (const [name, value] of Object.entries(filter)) {
    if (value === undefined) continue;
    values.push(value);
    conditions.push(`${name} = $${values.length}`);
  }
  if (cursor !== undefined) {
    values.push(decodeCursor(table.name, filter, cursor).toString());
    conditions.push(`ordinal ${order === 'newestFirst' ? '<' : '>'} $${values.length}`);
  }

  // One row more than asked for tells whether there is a next page.
  values.push(limit + 1);
  const { rows } = await db.query(
    `select * from ${await liveReadSchema(db)}.${table.name}
      ${conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`}
      order by ordinal ${order === 'newestFirst' ? 'desc' : 'asc'} limit $${values.length}`,
    values,
  );
  const shown = rows.slice(0, limit).map(table.decode);
  const last = shown.at(-1);
  return {
    items: shown.map(({ row }) => row),
    nextCursor: rows.length > limit && last ? encodeCursor(table.name, filter, last.ordinal) : null,
  };
}
