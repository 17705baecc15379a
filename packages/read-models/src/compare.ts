/** Compares two fillings of the read models row by row: for a rebuild and for a reconciliation. */
import type { Queryable } from '@coffer/database';
import type { Environment } from '@coffer/kernel';

/** The tables, each with the columns that name a row to people. Every table has `app_id` and `environment`. */
export const READ_TABLES: Readonly<Record<string, readonly string[]>> = {
  accounts: ['stream'],
  commissions: ['stream'],
  earnings: ['stream'],
  earnings_entries: ['entry'],
  holds: ['stream', 'hold_id'],
  moves: ['move_id'],
  play_sessions: ['session_id'],
  pool_stakes: ['stream', 'bet_id'],
  pools: ['stream'],
  postings: ['stream', 'revision', 'number'],
  referees: ['stream'],
  trial_balances: ['book'],
};

export interface RowDifference {
  /** The values of the key's columns, joined by a space. */
  readonly key: string;
  /** The columns that differ, or all of them if one side has no such row: that side is then null. */
  readonly expected: Readonly<Record<string, string | null>> | null;
  readonly actual: Readonly<Record<string, string | null>> | null;
}

export interface TableComparison {
  readonly table: string;
  /** The number of expected rows. */
  readonly examined: number;
  /** The number of rows that differ; only the first are listed. */
  readonly differing: number;
  readonly differences: readonly RowDifference[];
}

export interface ComparisonOptions {
  /** The schema of the correct rows. */
  readonly expected: string;
  /** The schema of the rows in question. */
  readonly actual: string;
  /** Only the rows of this app and environment. Default: all. */
  readonly place?: { readonly appId: string; readonly environment: Environment };
}

/** Differences per table. */
const MOST_LISTED = 100;

/** Reads both schemas in the transaction of `db`, which must see both at the same place of the log. */
export async function compareReadSchemas(
  db: Queryable,
  options: ComparisonOptions,
): Promise<readonly TableComparison[]> {
  const comparisons: TableComparison[] = [];
  for (const [table, key] of Object.entries(READ_TABLES)) {
    comparisons.push(await compareTable(db, table, key, options));
  }
  return comparisons;
}

async function compareTable(
  db: Queryable,
  table: string,
  key: readonly string[],
  { expected, actual, place }: ComparisonOptions,
): Promise<TableComparison> {
  const columns = await columnsOf(db, expected, table);
  const values = place ? [place.appId, place.environment] : [];
  const where = place ? 'where app_id = $1 and environment = $2' : '';
  const rowOf = (side: string) => `row(${columns.map((column) => `${side}.${column}`).join(', ')})`;
  const shown = (side: string) => columns.map((column) => `${side}.${column}::text as ${side}_${column}`);
  const { rows } = await db.query(
    `select count(*) over () as differing, ${[...shown('e'), ...shown('a')].join(', ')}
       from (select * from ${expected}.${table} ${where}) e
       full join (select * from ${actual}.${table} ${where}) a using (${key.join(', ')})
      where ${rowOf('e')} is distinct from ${rowOf('a')}
      order by ${key.join(', ')} limit ${MOST_LISTED}`,
    values,
  );
  const counted = await db.query(`select count(*) as examined from ${expected}.${table} ${where}`, values);
  return {
    table,
    examined: Number(counted.rows[0]?.examined),
    differing: Number(rows[0]?.differing ?? 0),
    differences: rows.map((row) => differenceOf(key, columns, row)),
  };
}

async function columnsOf(db: Queryable, schema: string, table: string): Promise<readonly string[]> {
  const { rows } = await db.query<{ readonly column_name: string }>(
    `select column_name from information_schema.columns
      where table_schema = $1 and table_name = $2 order by ordinal_position`,
    [schema, table],
  );
  return rows.map(({ column_name }) => column_name);
}

type TextRow = Readonly<Record<string, string | null>>;

/** `row` has each column twice, as text: the expected side under `e_`, the actual one under `a_`. */
function differenceOf(key: readonly string[], columns: readonly string[], row: TextRow): RowDifference {
  const side = (prefix: string): TextRow | null => {
    // Key columns are never null, so a side with a null has no such row.
    if (key.some((column) => row[`${prefix}_${column}`] == null)) return null;
    return Object.fromEntries(columns.map((column) => [column, row[`${prefix}_${column}`] ?? null]));
  };
  const expected = side('e');
  const actual = side('a');
  const name = key.map((column) => (expected ?? actual)?.[column]).join(' ');
  if (!expected || !actual) return { key: name, expected, actual };

  const differing = columns.filter((column) => expected[column] !== actual[column]);
  const only = (whole: TextRow) =>
    Object.fromEntries(differing.map((column) => [column, whole[column] ?? null]));
  return { key: name, expected: only(expected), actual: only(actual) };
}
