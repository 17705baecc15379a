/**
 * The table of a read model: rows are read by key, written many at a time, and decoded to their types. Here and in the projections only
 * inserts have names: what finds rows is planned each time for as many as there are, since a plan that is kept may be of an
 * empty table, and goes through all of it. ADR 0079.
 */
import assert from 'node:assert/strict';
import { inTurns } from '@coffer/consumers';
import type { Queryable } from '@coffer/database';
import { asText, ROWS_A_STATEMENT, sentRows } from './sentRows.ts';

/** How one value is sent, as text of the type, and read; an amount is never a floating-point number. Two that are the same are `===`. */
export interface Column<Value extends string | number | bigint | null> {
  readonly type: string;
  readonly encode: (value: Value) => string | null;
  readonly decode: (stored: unknown) => Value;
}

const text = <Text extends string>(): Column<Text> => ({
  type: 'text',
  encode: (value) => value,
  // The table holds only values encoded from this type.
  decode: (stored) => stored as Text,
});
const integer: Column<number> = { type: 'integer', encode: String, decode: Number };
const amount: Column<bigint> = {
  type: 'numeric',
  encode: String,
  decode: (stored) => BigInt(String(stored)),
};
/** ISO 8601 UTC with milliseconds. */
const instant: Column<string> = {
  type: 'timestamptz',
  encode: (value) => value,
  decode: (stored) => new Date(String(stored instanceof Date ? stored.toISOString() : stored)).toISOString(),
};
const optional = <Value extends string | number | bigint>(column: Column<Value>): Column<Value | null> => ({
  type: column.type,
  encode: (value) => (value === null ? null : column.encode(value)),
  decode: (stored) => (stored === null ? null : column.decode(stored)),
});

export const column = { text, integer, amount, instant, optional };

/**
 * A text in the condition of a statement that finds its rows by their key. Hidden in an expression, it makes the planner
 * use no partial index on it: by old statistics such an index is almost empty, just when thousands of rows are in it.
 */
export const hidden = (expression: string) => `coalesce(${expression}, '')`;

export type RowOf<
  Columns extends Readonly<Record<string, { readonly decode: (stored: unknown) => unknown }>>,
> = {
  readonly [Field in keyof Columns]: ReturnType<Columns[Field]['decode']>;
};

/** A row with its ordinal, in order of creation. */
export interface StoredRow<Row> {
  readonly row: Row;
  readonly ordinal: bigint;
}

/** What a stored row becomes; its key and its ordinal stay. */
export interface RowChange<Row> {
  readonly from: Row;
  readonly to: Row;
}

export interface RowTable<Row> {
  readonly name: string;
  readonly keyOf: (row: Row) => string;
  readonly read: (
    db: Queryable,
    schema: string,
    keys: readonly string[],
  ) => Promise<Map<string, StoredRow<Row>>>;
  /** Whole rows, in the place of those with their keys. */
  readonly write: (db: Queryable, schema: string, rows: readonly StoredRow<Row>[]) => Promise<void>;
  /** Writes only the columns in which some row differs. Throws if one is not there. */
  readonly update: (db: Queryable, schema: string, changes: readonly RowChange<Row>[]) => Promise<void>;
  readonly lastOrdinal: (db: Queryable, schema: string) => Promise<bigint>;
  readonly decode: (stored: Readonly<Record<string, unknown>>) => StoredRow<Row>;
}

/** The table `name` with a column for each field of the row (`userId` is in `user_id`). */
export function rowTable<Row extends { readonly [Field in keyof Row]: string | number | bigint | null }>(
  name: string,
  key: keyof Row & string,
  columns: { readonly [Field in keyof Row]: Column<Row[Field]> },
): RowTable<Row> {
  const fields = (Object.keys(columns) as (keyof Row & string)[]).map(
    (field) => [field, snakeCase(field)] as const,
  );
  const keyName = snakeCase(key);
  const sentColumn = <Sent>(field: keyof Row & string, rowOf: (sent: Sent) => Row) => {
    const { type, encode } = columns[field];
    return [snakeCase(field), asText(type)((sent: Sent) => encode(rowOf(sent)[field]))] as const;
  };
  const whole = sentRows<StoredRow<Row>>({
    ordinal: asText('bigint')(({ ordinal }) => ordinal.toString()),
    ...Object.fromEntries(fields.map(([field]) => sentColumn(field, ({ row }: StoredRow<Row>) => row))),
  });
  const replaced = whole.names
    .filter((stored) => stored !== keyName)
    .map((stored) => `${stored} = excluded.${stored}`);

  const decode: RowTable<Row>['decode'] = (stored) => ({
    ordinal: column.amount.decode(stored.ordinal),
    // `fields` are all fields of a row, so nothing of its type is missing.
    row: Object.fromEntries(
      fields.map(([field, storedName]) => [field, columns[field].decode(stored[storedName])]),
    ) as unknown as Row,
  });
  const keyOf = (row: Row) => String(row[key]);

  return {
    name,
    keyOf,
    decode,
    async read(db, schema, keys) {
      const found = new Map<string, StoredRow<Row>>();
      for await (const part of inTurns(keys, ROWS_A_STATEMENT)) {
        const { rows } = await db.query({
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
          text: `insert into ${schema}.${name} (${whole.names.join(', ')})
                 select ${whole.typed.join(', ')} from ${whole.source}
                 on conflict (${keyName}) do update set ${replaced.join(', ')}`,
          values: whole.valuesOf(part),
        });
      }
    },
    async update(db, schema, changes) {
      for await (const part of inTurns(changes, ROWS_A_STATEMENT)) {
        const changed = fields
          .map(([field]) => field)
          .filter((field) => part.some(({ from, to }) => from[field] !== to[field]));
        if (changed.length === 0) continue;
        const { rowCount } = await db.query(updateOf(schema, changed, part));
        assert.equal(rowCount, part.length, `every row that changes is in ${name}`);
      }
    },
    async lastOrdinal(db, schema) {
      const { rows } = await db.query(`select coalesce(max(ordinal), 0) as ordinal from ${schema}.${name}`);
      return column.amount.decode(rows[0]?.ordinal);
    },
  };

  function updateOf(
    schema: string,
    changed: readonly (keyof Row & string)[],
    changes: readonly RowChange<Row>[],
  ) {
    const { names, typed, source, valuesOf } = sentRows<RowChange<Row>>(
      Object.fromEntries([key, ...changed].map((field) => sentColumn(field, ({ to }: RowChange<Row>) => to))),
    );
    const [sentKey, ...values] = typed;
    const set = values.map((value, index) => `${names[index + 1]} = ${value}`);
    return {
      text: `update ${schema}.${name} stored set ${set.join(', ')} from ${source} where stored.${keyName} = ${sentKey}`,
      values: valuesOf(changes),
    };
  }
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
