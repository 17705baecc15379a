/** Rows are sent as one array a column, which Postgres takes in a fraction of the time of JSON. */
import { inTurns } from '@coffer/consumers';
import { int4Array, int8Array, type Queryable, textArray } from '@coffer/database';

/** Some milliseconds of work. */
export const ROWS_A_STATEMENT = 500;

/** How the values of a column are sent, and the type that the database makes of them. */
export interface SentColumn<Row> {
  readonly sentAs: 'text' | 'int4' | 'int8';
  readonly type: string;
  readonly arrayOf: (rows: readonly Row[]) => Buffer;
}

export const asText =
  (type: string) =>
  <Row>(of: (row: Row) => string | null): SentColumn<Row> => ({
    sentAs: 'text',
    type,
    arrayOf: (rows) => textArray(rows.map(of)),
  });

export const sent = {
  text: asText('text'),
  /** ISO 8601. */
  instant: asText('timestamptz'),
  boolean: asText('boolean'),
  amount: <Row>(of: (row: Row) => bigint): SentColumn<Row> => asText('numeric')((row) => of(row).toString()),
  optionalAmount: <Row>(of: (row: Row) => bigint | undefined): SentColumn<Row> =>
    asText('numeric')((row) => of(row)?.toString() ?? null),
  optionalInteger: <Row>(of: (row: Row) => number | undefined): SentColumn<Row> =>
    asText('integer')((row) => of(row)?.toString() ?? null),
  integer: <Row>(of: (row: Row) => number): SentColumn<Row> => ({
    sentAs: 'int4',
    type: 'integer',
    arrayOf: (rows) => int4Array(rows.map(of)),
  }),
  bigint: <Row>(of: (row: Row) => number): SentColumn<Row> => ({
    sentAs: 'int8',
    type: 'bigint',
    arrayOf: (rows) => int8Array(rows.map(of)),
  }),
};

/** The rows as the source of a statement, with columns of these names; what it selects of them has the types of the table. */
export function sentRows<Row>(columns: Readonly<Record<string, SentColumn<Row>>>) {
  const names = Object.keys(columns);
  const all = Object.values(columns);
  const arrays = all.map(({ sentAs }, index) => `$${index + 1}::${sentAs}[]`);
  return {
    source: `unnest(${arrays.join(', ')}) as sent(${names.join(', ')})`,
    typed: all.map(({ type }, index) => `sent.${names[index]}::${type}`),
    names,
    valuesOf: (rows: readonly Row[]) => all.map(({ arrayOf }) => arrayOf(rows)),
  };
}

export type InsertRows<Row> = (db: Queryable, rows: readonly Row[]) => Promise<void>;

/** By the names of the columns; those not named are null. */
export function rowInserts<Row>(
  table: string,
  columns: Readonly<Record<string, SentColumn<Row>>>,
): InsertRows<Row> {
  const { source, typed, names, valuesOf } = sentRows(columns);
  const statement = {
    name: `insert ${table}`,
    text: `insert into ${table} (${names.join(', ')}) select ${typed.join(', ')} from ${source}`,
  };
  return async (db, rows) => {
    for await (const part of inTurns(rows, ROWS_A_STATEMENT)) {
      await db.query({ ...statement, values: valuesOf(part) });
    }
  };
}
