/** Queries whose shape depends on the caller (filters that may be absent, an order, a cursor), put together by knex. */
import knex, { type Knex } from 'knex';
import type pg from 'pg';
import type { Queryable } from './pool.ts';

/** Builds SQL and has no connection of its own: `rowsOf` runs what it builds. */
export const sql: Knex = knex({ client: 'pg' });

export async function rowsOf<Row extends pg.QueryResultRow>(
  db: Queryable,
  query: Knex.QueryBuilder,
): Promise<readonly Row[]> {
  const { sql: text, bindings } = query.toSQL().toNative();
  return (await db.query<Row>(text, [...bindings])).rows;
}

/** For `where`: those of the columns that the caller has given a value. */
export const given = (columns: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined));
