/** Queries whose shape depends on the caller (optional filters, an order, a cursor), built by knex. */
import knex, { type Knex } from 'knex';
import type pg from 'pg';
import type { Queryable } from './pool.ts';

/** Builds SQL only, without a connection: `rowsOf` runs it. */
export const sql: Knex = knex({ client: 'pg' });

export async function rowsOf<Row extends pg.QueryResultRow>(
  db: Queryable,
  query: Knex.QueryBuilder,
): Promise<readonly Row[]> {
  const { sql: text, bindings } = query.toSQL().toNative();
  return (await db.query<Row>(text, [...bindings])).rows;
}

/** For `where`: the columns for which the caller gave a value. */
export const given = (columns: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined));
