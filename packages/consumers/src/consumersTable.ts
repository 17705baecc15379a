/**
 * One row per consumer: who runs it now, and the place in the log that it has reached. The table has the same shape
 * everywhere: projections keep theirs beside their rows, reactions among the records.
 */
import { answeredWithin, type Pool, type Queryable, withTransaction } from '@coffer/database';
import type { LogPlace, Position } from '@coffer/event-store';
import { type ConsumerStop, LostLeaseError } from './errors.ts';

export interface ConsumerKey {
  /** `records`, or the schema of the projection's tables. */
  readonly schema: string;
  readonly name: string;
}

/** The place that a consumer has reached, with a count: positions are opaque and may have gaps. */
export interface Checkpoint extends LogPlace {
  /** The number of events up to the place, inclusive. */
  readonly ordinal: number;
}

/** `position`, `event_id` and `ordinal` are null until the first checkpoint; `epoch` counts the takeovers. */
export const consumersTableSql = (schema: string) => `
create table if not exists ${schema}.consumers (
  name text primary key,
  position text,
  event_id text,
  ordinal bigint,
  epoch bigint not null default 0,
  owner text,
  leased_until timestamptz,
  updated_at timestamptz not null default clock_timestamp(),
  check ((position is null) = (event_id is null) and (position is null) = (ordinal is null))
)`;

/** Before places were counted, the store was always Postgres, whose positions are the count. */
const countedPlacesSql = (schema: string) => `
alter table ${schema}.consumers add column if not exists ordinal bigint;
update ${schema}.consumers set ordinal = position::bigint where ordinal is null and position is not null`;

/** An arbitrary constant: of two simultaneous "create if not exists" one fails, so they take turns. */
const CREATION_LOCK = 7_263_004;

/** Creates the table unless it exists. The schema must exist. */
export async function createConsumersTable(pool: Pool, schema: string): Promise<void> {
  await withTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [CREATION_LOCK]);
    await client.query(consumersTableSql(schema));
    await client.query(countedPlacesSql(schema));
  });
}

interface PlaceColumns {
  readonly position: string | null;
  readonly event_id: string | null;
  readonly ordinal: string | null;
}

/** The saved checkpoint; undefined before the first. */
export async function readCheckpoint(db: Queryable, key: ConsumerKey): Promise<Checkpoint | undefined> {
  const { rows } = await db.query<PlaceColumns>(
    `select position, event_id, ordinal from ${key.schema}.consumers where name = $1`,
    [key.name],
  );
  return placeIn(rows[0]);
}

/** Moves the checkpoint. If another runner has moved it: `LostLeaseError`, and the transaction must not commit. */
export async function saveCheckpoint(
  db: Queryable,
  key: ConsumerKey,
  epoch: string,
  { from, to }: { readonly from: LogPlace | undefined; readonly to: Checkpoint | undefined },
): Promise<void> {
  const { rowCount } = await db.query(
    `update ${key.schema}.consumers
        set position = $4, event_id = $5, ordinal = $6, updated_at = clock_timestamp()
      where name = $1 and epoch = $2 and position is not distinct from $3`,
    [key.name, epoch, from?.position ?? null, to?.position ?? null, to?.eventId ?? null, to?.ordinal ?? null],
  );
  if (rowCount !== 1) throw new LostLeaseError(key.name);
}

/**
 * Takes the lease if it is free, expired, or already this owner's, by the database's clock; also one that lasts longer
 * than any, which is of a time when that clock was ahead. The epoch goes up, which ends every right of the previous
 * holder, who may live. One that never ends is a retired consumer's.
 */
export async function acquire(
  db: Queryable,
  key: ConsumerKey,
  owner: string,
  leaseMs: number,
): Promise<{ readonly epoch: string; readonly place: Checkpoint | undefined } | undefined> {
  await db.query(`insert into ${key.schema}.consumers (name) values ($1) on conflict do nothing`, [key.name]);
  const { rows } = await db.query<PlaceColumns & { readonly epoch: string }>(
    `update ${key.schema}.consumers
        set epoch = epoch + 1, owner = $2, updated_at = clock_timestamp(),
            leased_until = clock_timestamp() + $3 * interval '1 millisecond'
      where name = $1
        and (leased_until is null or leased_until < clock_timestamp() or owner = $2
             or (leased_until > clock_timestamp() + $3 * interval '2 milliseconds' and leased_until < 'infinity'))
      returning epoch, position, event_id, ordinal`,
    [key.name, owner, leaseMs],
  );
  return rows[0] && { epoch: rows[0].epoch, place: placeIn(rows[0]) };
}

/** Ends every right of the lease's holder without taking the lease: for work that is exclusive through a lock. */
export async function claim(
  db: Queryable,
  key: ConsumerKey,
): Promise<{ readonly epoch: string; readonly place: Checkpoint | undefined }> {
  const { rows } = await db.query<PlaceColumns & { readonly epoch: string }>(
    `insert into ${key.schema}.consumers as c (name, epoch) values ($1, 1)
     on conflict (name) do update
       set epoch = c.epoch + 1, owner = null, leased_until = null, updated_at = clock_timestamp()
     returning epoch, position, event_id, ordinal`,
    [key.name],
  );
  return { epoch: String(rows[0]?.epoch), place: placeIn(rows[0]) };
}

/**
 * Ends every right to the checkpoint for ever, and returns its place. Until the caller's transaction ends, a runner's
 * page waits; if it commits, that page and all later ones are refused.
 */
export async function retireConsumer(db: Queryable, key: ConsumerKey): Promise<Checkpoint | undefined> {
  const { rows } = await db.query<PlaceColumns>(
    `insert into ${key.schema}.consumers as c (name, epoch, leased_until) values ($1, 1, 'infinity')
     on conflict (name) do update
       set epoch = c.epoch + 1, owner = null, leased_until = 'infinity', updated_at = clock_timestamp()
     returning position, event_id, ordinal`,
    [key.name],
  );
  return placeIn(rows[0]);
}

/** A consumer according to its row, whichever node runs it. */
export interface ConsumerRow {
  readonly name: string;
  readonly checkpoint: Checkpoint | undefined;
  /** Who holds the lease now; undefined if nobody does. */
  readonly owner: string | undefined;
  /** When the checkpoint last moved or the lease was last taken. */
  readonly updatedAt: Date;
  /** Where its last runner stopped for good; undefined if none has, or another has begun since. */
  readonly stopped: (ConsumerStop & { readonly at: Date }) | undefined;
}

interface StopColumns {
  readonly code: ConsumerStop['code'] | null;
  readonly reason: string | null;
  readonly event: ConsumerStop['event'] | null;
  readonly stopped_at: Date | null;
}

export async function listConsumers(db: Queryable, schema: string): Promise<readonly ConsumerRow[]> {
  const { rows } = await db.query<
    PlaceColumns &
      StopColumns & { readonly name: string; readonly owner: string | null; readonly updated_at: Date }
  >(
    `select c.name, position, event_id, ordinal, updated_at,
            case when leased_until > clock_timestamp() then owner end as owner,
            s.code, s.reason, s.event, s.stopped_at
       from ${schema}.consumers c
       left join records.consumer_stops s on s.schema = $1 and s.name = c.name and s.epoch = c.epoch
      order by c.name`,
    [schema],
  );
  return rows.map((row) => ({
    name: row.name,
    checkpoint: placeIn(row),
    owner: row.owner ?? undefined,
    updatedAt: row.updated_at,
    stopped: stopIn(row),
  }));
}

function stopIn({ code, reason, event, stopped_at: at }: StopColumns): ConsumerRow['stopped'] {
  if (code === null || reason === null || at === null) return undefined;
  return { code, reason, event: event ?? undefined, at };
}

/**
 * False when the lease has been taken over. Whoever shows that he lives does not wait for the disk, nor make appends wait
 * for it; a server that crashes forgets at most the last renewal, and ends the holder's connections.
 */
export async function renew(
  db: Queryable,
  key: ConsumerKey,
  epoch: string,
  leaseMs: number,
): Promise<boolean> {
  // An answer that takes longer than the lease is worth nothing.
  const bounded = answeredWithin(Math.ceil(leaseMs), {
    text: `update ${key.schema}.consumers set leased_until = clock_timestamp() + $3 * interval '1 millisecond'
      where name = $1 and epoch = $2
      returning set_config('synchronous_commit', 'off', true)`,
    values: [key.name, epoch, leaseMs],
  });
  const { rowCount } = await db.query(bounded);
  return rowCount === 1;
}

/** Lets the next runner in at once. Does nothing when the lease has been taken over. */
export async function release(db: Queryable, key: ConsumerKey, epoch: string): Promise<void> {
  await db.query(
    `update ${key.schema}.consumers set owner = null, leased_until = null where name = $1 and epoch = $2`,
    [key.name, epoch],
  );
}

/** Who holds the lease now; undefined if nobody does. */
export async function leaseHolder(db: Queryable, key: ConsumerKey): Promise<string | undefined> {
  const { rows } = await db.query<{ owner: string }>(
    `select owner from ${key.schema}.consumers
      where name = $1 and owner is not null and leased_until > clock_timestamp()`,
    [key.name],
  );
  return rows[0]?.owner;
}

/** The next runner begins at the start of the log; the current one can no longer write. */
export async function forgetPlace(db: Queryable, key: ConsumerKey): Promise<void> {
  await db.query(
    `update ${key.schema}.consumers
        set position = null, event_id = null, ordinal = null, epoch = epoch + 1, owner = null,
            leased_until = null, updated_at = clock_timestamp()
      where name = $1`,
    [key.name],
  );
}

/** Sets the place as if the consumer had read up to it; the current runner can no longer write. */
export async function putPlace(db: Queryable, key: ConsumerKey, place: Checkpoint): Promise<void> {
  await db.query(
    `insert into ${key.schema}.consumers as c (name, position, event_id, ordinal, epoch) values ($1, $2, $3, $4, 1)
     on conflict (name) do update
       set position = $2, event_id = $3, ordinal = $4, epoch = c.epoch + 1, owner = null,
           leased_until = null, updated_at = clock_timestamp()`,
    [key.name, place.position, place.eventId, place.ordinal],
  );
}

function placeIn(row: PlaceColumns | undefined): Checkpoint | undefined {
  if (row?.position == null || row.event_id == null) return undefined;
  // The store issued this text as a position when the checkpoint was saved.
  const position = row.position as Position;
  return { position, eventId: row.event_id, ordinal: Number(row.ordinal) };
}
