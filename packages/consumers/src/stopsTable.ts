/** `records.consumer_stops`: which consumer stopped for good, where and why, for tools outside it. */
import { join } from 'node:path';
import type { Migrations, Queryable } from '@coffer/database';
import type { ConsumerKey } from './consumersTable.ts';
import type { ConsumerStop } from './errors.ts';

/** The tables that all consumers share. */
export const consumerMigrations: Migrations = {
  schema: 'records',
  folder: join(import.meta.dirname, 'migrations'),
};

/** Only if nobody has taken the lease since. */
export async function recordStop(
  db: Queryable,
  { schema, name }: ConsumerKey,
  epoch: string,
  { code, reason, event }: ConsumerStop,
): Promise<void> {
  await db.query(
    `insert into records.consumer_stops (schema, name, epoch, code, reason, event)
     select $1, $2, $3, $4, $5, $6 from ${schema}.consumers where name = $2 and epoch = $3
     on conflict (schema, name) do update
       set epoch = excluded.epoch, code = excluded.code, reason = excluded.reason, event = excluded.event,
           stopped_at = excluded.stopped_at`,
    [schema, name, epoch, code, storable(reason), event ? JSON.stringify(event, storableIn) : null],
  );
}

/** The reason may quote an event, and JSON can say what Postgres does not store: NUL, and halves of a pair. */
const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd');

const storableIn = (_key: string, value: unknown): unknown =>
  typeof value === 'string' ? storable(value) : value;
