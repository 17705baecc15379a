/** Queries whose shape depends on the caller (optional filters, an order, a cursor), built by knex. */
import type { Knex } from 'knex';
import type pg from 'pg';
import { knex } from './knex.ts';
import type { Queryable } from './pool.ts';

let builder: Knex | undefined;

function builderOnce(): Knex {
  builder ??= knex({ client: 'pg' });
  return builder;
}

/** A query of the table. Builds SQL only, without a connection: `rowsOf` runs it. */
export const sql = (table: string): Knex.QueryBuilder => builderOnce()(table);

/** SQL that is part of a query as it stands. */
export const rawSql = (text: string): Knex.Raw => builderOnce().raw(text);

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
