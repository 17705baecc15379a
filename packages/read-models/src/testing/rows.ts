/** The read models as comparable rows, for specs that break whatever fills them. */
import { type Pool, type Queryable, withTransaction } from '@coffer/database';
import type { EventStore } from '@coffer/event-store';
import { eventually } from '@coffer/testing';
import { READ_MODELS_CONSUMER, type ReadModelProjections, startReadModels } from '../readModels.ts';
import { createReadSchema, liveReadSchema } from '../schema.ts';

/** Every table of the schema, whatever its tables are: its rows as text, in order. */
export type Rows = Readonly<Record<string, readonly string[]>>;

/** A log, and the database of its read models. */
export interface ReadSource {
  readonly pool: Pool;
  readonly store: EventStore;
}

/**
 * From `consumers` only the positions: who had the lease, and how often, does not depend on the log. The id identifies
 * the event; a position is specific to the store.
 */
const PLACE_COLUMNS = 'name, event_id, ordinal';

export async function rowsOf(db: Queryable, schema: string): Promise<Rows> {
  const tables = await db.query<{ name: string }>(
    'select table_name as name from information_schema.tables where table_schema = $1 order by 1',
    [schema],
  );
  const found: Record<string, readonly string[]> = {};
  for (const { name } of tables.rows) {
    const columns = name === 'consumers' ? PLACE_COLUMNS : '*';
    const { rows } = await db.query<{ row: string }>(
      `select of_table::text as row from (select ${columns} from ${schema}.${name}) of_table order by 1`,
    );
    found[name] = rows.map(({ row }) => row);
  }
  return found;
}

/** The read models when nothing disturbs their filling: the log must not change meanwhile. */
export async function freshRows(
  { pool, store }: ReadSource,
  projections: ReadModelProjections,
): Promise<Rows> {
  const schema = 'fresh_read_models';
  await withTransaction(pool, (client) => createReadSchema(client, schema));
  const fail = ({ error }: { readonly error: unknown }) => {
    failure ??= error;
  };
  let failure: unknown;
  const consumer = startReadModels({ pool, store, schema, projections, onAlarm: fail, onTrouble: fail });
  try {
    await eventually('a fresh filling has reached the end of the log', () => {
      if (failure !== undefined) throw failure;
      return consumer.status().state === 'live' || undefined;
    });
    return await rowsOf(pool, schema);
  } finally {
    await consumer.stop();
    await pool.query(`drop schema ${schema} cascade`);
  }
}

/** The rows of the live read models, once they have reached the current end of the log. */
export async function caughtUpRows({ pool, store }: ReadSource): Promise<Rows> {
  const schema = await liveReadSchema(pool);
  await eventually('the read models have reached the end of the log', () =>
    isCaughtUp({ pool, store }, schema, READ_MODELS_CONSUMER),
  );
  return rowsOf(pool, schema);
}

/** When the process has saved the end of the log as its position: nothing is pending. */
export const holdsCaughtUp = (of: ReadSource): Promise<true> =>
  eventually('the process stands at the end of the log', () => isCaughtUp(of, 'records', 'holds'));

async function isCaughtUp(
  { pool, store }: ReadSource,
  schema: string,
  name: string,
): Promise<true | undefined> {
  const head = await store.head();
  const { rows } = await pool.query<{ reached: string | null }>(
    `select event_id as reached from ${schema}.consumers where name = $1`,
    [name],
  );
  return (rows[0] !== undefined && rows[0].reached === (head?.eventId ?? null)) || undefined;
}

/** As if the leases had expired: what a killed process held can be taken at once. */
export async function expireLeases(db: Queryable, schema: string): Promise<void> {
  await db.query(
    `update ${schema}.consumers set leased_until = clock_timestamp() - interval '1 second'
      where leased_until is not null`,
  );
}
