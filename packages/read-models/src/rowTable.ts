/** The table of a read model: rows are read by key, written many at a time, and decoded to their types. */
import { inTurns } from '@coffer/consumers';
import type { Queryable } from '@coffer/database';

/** How one value is stored and read; an amount is text, never a floating-point number. */
export interface Column<Value> {
  readonly encode: (value: Value) => string | number | null;
  readonly decode: (stored: unknown) => Value;
}

const text = <Text extends string>(): Column<Text> => ({
  encode: (value) => value,
  // The table holds only values encoded from this type.
  decode: (stored) => stored as Text,
});
const integer: Column<number> = { encode: (value) => value, decode: Number };
const amount: Column<bigint> = { encode: String, decode: (stored) => BigInt(String(stored)) };
/** ISO 8601 UTC with milliseconds. */
const instant: Column<string> = {
  encode: (value) => value,
  decode: (stored) => new Date(String(stored instanceof Date ? stored.toISOString() : stored)).toISOString(),
};
const optional = <Value>(column: Column<Value>): Column<Value | null> => ({
  encode: (value) => (value === null ? null : column.encode(value)),
  decode: (stored) => (stored === null ? null : column.decode(stored)),
});

export const column = { text, integer, amount, instant, optional };

/** Some milliseconds of work. */
export const ROWS_A_STATEMENT = 500;

/**
 * A text in the condition of a statement that finds its rows by their key. Hidden in an expression, it makes the planner
 * use no partial index on it: by old statistics such an index is almost empty, just when thousands of rows are in it.
 */
export const hidden = (expression: string) => `coalesce(${expression}, '')`;

export type RowOf<Columns extends Readonly<Record<string, Pick<Column<unknown>, 'decode'>>>> = {
  readonly [Field in keyof Columns]: ReturnType<Columns[Field]['decode']>;
};

/** A row with its ordinal, in order of creation. */
export interface StoredRow<Row> {
  readonly row: Row;
  readonly ordinal: bigint;
}

export interface RowTable<Row> {
  readonly name: string;
  readonly keyOf: (row: Row) => string;
  readonly read: (
    db: Queryable,
    schema: string,
    keys: readonly string[],
  ) => Promise<Map<string, StoredRow<Row>>>;
  readonly write: (db: Queryable, schema: string, rows: readonly StoredRow<Row>[]) => Promise<void>;
  readonly lastOrdinal: (db: Queryable, schema: string) => Promise<bigint>;
  readonly decode: (stored: Readonly<Record<string, unknown>>) => StoredRow<Row>;
}

/** The table `name` with a column for each field of the row (`userId` is in `user_id`). */
export function rowTable<Row>(
  name: string,
  key: keyof Row & string,
  columns: { readonly [Field in keyof Row]: Column<Row[Field]> },
): RowTable<Row> {
  const fields = (Object.keys(columns) as (keyof Row & string)[]).map(
    (field) => [field, snakeCase(field)] as const,
  );
  const names = ['ordinal', ...fields.map(([, stored]) => stored)];
  const keyName = snakeCase(key);
  const changes = names
    .filter((stored) => stored !== keyName)
    .map((stored) => `${stored} = excluded.${stored}`);

  const decode: RowTable<Row>['decode'] = (stored) => ({
    ordinal: column.amount.decode(stored.ordinal),
    // `fields` are all fields of a row, so nothing of its type is missing.
    row: Object.fromEntries(
      fields.map(([field, storedName]) => [field, columns[field].decode(stored[storedName])]),
    ) as unknown as Row,
  });
  // Thousands a second: by way of entries, a row took a third longer.
  const encode = ({ row, ordinal }: StoredRow<Row>) => {
    const stored: Record<string, string | number | null> = { ordinal: column.amount.encode(ordinal) };
    for (const [field, storedName] of fields) stored[storedName] = columns[field].encode(row[field]);
    return stored;
  };
  const keyOf = (row: Row) => String(row[key]);

  return {
    name,
    keyOf,
    decode,
    async read(db, schema, keys) {
      const found = new Map<string, StoredRow<Row>>();
      for await (const part of inTurns(keys, ROWS_A_STATEMENT)) {
        const { rows } = await db.query({
          name: `read ${schema}.${name}`,
          text: `select * from ${schema}.${name} where ${keyName} = any($1)`,
          values: [part],
        });
        for (const stored of rows.map(decode)) found.set(keyOf(stored.row), stored);
      }
      return found;
    },
    async write(db, schema, rows) {
      for await (const part of inTurns(rows, ROWS_A_STATEMENT)) {
        await db.query({
          name: `write ${schema}.${name}`,
          text: `insert into ${schema}.${name} (${names.join(', ')})
                 select ${names.join(', ')} from json_populate_recordset(null::${schema}.${name}, $1)
                 on conflict (${keyName}) do update set ${changes.join(', ')}`,
          values: [JSON.stringify(part.map(encode))],
        });
      }
    },
    async lastOrdinal(db, schema) {
      const { rows } = await db.query(`select coalesce(max(ordinal), 0) as ordinal from ${schema}.${name}`);
      return column.amount.decode(rows[0]?.ordinal);
    },
  };
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
