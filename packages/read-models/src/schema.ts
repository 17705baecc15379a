/**
 * Where the rows of the read models are kept. Everything in a schema `read_v<version>`, its checkpoint
 * included, follows from the log, so it is never altered: another shape, or a rebuild, fills a new version
 * next to the old one, and readers switch by the pointer.
 */
import { fileURLToPath } from 'node:url';
import { consumersTableSql } from '@coffer/consumers';
import { type Client, type Migrations, type Pool, type Queryable, withTransaction } from '@coffer/database';

/** Raised with every change of the tables below; this release reads no other shape. */
export const READ_SHAPE = 7;

/** The pointer's table. */
export const readModelMigrations: Migrations = {
  schema: 'records',
  folder: fileURLToPath(new URL('../migrations', import.meta.url)),
};

/** An arbitrary constant: whoever creates or drops versions takes turns. */
const VERSIONS_LOCK = 7_263_003;

/**
 * The comment of a schema from its creation until it is made live. The schema's number does not tell: when a
 * release with another shape starts, a higher version than the one being filled goes live.
 */
const FILLING = 'filling';

const readSchemaOf = (version: number) => `read_v${version}`;

/** Creates the pointer of this shape and the schema that it names. Needs `readModelMigrations`. */
export async function createReadModels(pool: Pool): Promise<void> {
  await changeVersions(pool, async (client) => {
    await client.query(
      `insert into records.read_pointer (shape, version) values ($1, $2) on conflict (shape) do nothing`,
      [READ_SHAPE, await unusedVersion(client)],
    );
    const schema = await liveReadSchema(client);
    // An existing schema is never altered, and creating it again would lock its tables against the process that fills them.
    if (!(await schemaExists(client, schema))) await createReadSchema(client, schema);
  });
}

async function schemaExists(db: Queryable, schema: string): Promise<boolean> {
  const { rowCount } = await db.query('select 1 from pg_namespace where nspname = $1', [schema]);
  return rowCount === 1;
}

/** The schema to read from. Every reader asks here, so that moving the pointer moves them all. */
export async function liveReadSchema(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ version: number }>(
    'select version from records.read_pointer where shape = $1',
    [READ_SHAPE],
  );
  const [pointer] = rows;
  if (!pointer) throw new Error(`No read model of shape ${READ_SHAPE} is live. Run the migrations.`);
  return readSchemaOf(pointer.version);
}

/**
 * Creates an empty version to be filled and returns its schema. Unfinished versions are dropped: the caller ensures by a
 * lock that no other filling is under way.
 */
export async function beginFilling(pool: Pool): Promise<string> {
  return changeVersions(pool, async (client) => {
    // A number is never reused: whoever still writes to a dropped version must fail.
    const schema = readSchemaOf(await unusedVersion(client));
    await dropUnfinished(client, null);
    await createReadSchema(client, schema);
    await client.query(`comment on schema ${schema} is '${FILLING}'`);
    return schema;
  });
}

/** Makes the filled version the live one when the transaction commits. */
export async function makeLive(client: Client, schema: string): Promise<void> {
  await client.query(`comment on schema ${schema} is null`);
  await client.query(
    `update records.read_pointer set version = substr($2, 7)::integer, moved_at = clock_timestamp()
      where shape = $1`,
    [READ_SHAPE, schema],
  );
}

/** Drops the version unless it was made live. */
export const dropFilling = (pool: Pool, schema: string): Promise<void> =>
  changeVersions(pool, (client) => dropUnfinished(client, schema));

/** Readers that read the pointer just before it moved are done by then. */
const SUPERSEDED_AFTER_SECONDS = 60;

/** Drops versions that no pointer has named for a while; the previous release's shape is kept for its nodes. */
export async function dropSuperseded(pool: Pool): Promise<void> {
  await changeVersions(pool, async (client) => {
    await client.query('delete from records.read_pointer where shape < $1', [READ_SHAPE - 1]);
    const { rows } = await client.query<{ schema: string }>(
      `${VERSIONS}
        where filling is not true
          and version not in (select version from records.read_pointer)
          and (select max(moved_at) from records.read_pointer)
                < clock_timestamp() - $1 * interval '1 second'`,
      [SUPERSEDED_AFTER_SECONDS],
    );
    for (const { schema } of rows) await client.query(`drop schema ${schema} cascade`);
  });
}

const VERSIONS = `
select schema, version, filling from (
  select nspname as schema, substr(nspname, 7)::integer as version,
         obj_description(oid, 'pg_namespace') = '${FILLING}' as filling
    from pg_namespace where nspname ~ '^read_v[0-9]+$'
) versions`;

function changeVersions<Result>(pool: Pool, work: (client: Client) => Promise<Result>): Promise<Result> {
  return withTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [VERSIONS_LOCK]);
    return work(client);
  });
}

/** Above all existing versions and all that a pointer names. */
async function unusedVersion(client: Client): Promise<number> {
  const { rows } = await client.query<{ version: number }>(
    `select 1 + coalesce(max(version), 0) as version
       from (select version from records.read_pointer union all select version from (${VERSIONS}) v) known`,
  );
  return Number(rows[0]?.version);
}

async function dropUnfinished(client: Client, only: string | null): Promise<void> {
  // Waits for whoever is making one live, even if its client is gone and does not know how that ended.
  await client.query('select from records.read_pointer for update');
  const { rows } = await client.query<{ schema: string }>(
    `${VERSIONS} where filling and ($1::text is null or schema = $1)`,
    [only],
  );
  for (const { schema } of rows) await client.query(`drop schema ${schema} cascade`);
}

/** Every existing version, live or not. */
export async function readSchemas(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ schema: string }>(
    "select nspname as schema from pg_namespace where nspname ~ '^read_v[0-9]+$' order by 1",
  );
  return rows.map(({ schema }) => schema);
}

/** Creates the tables, empty, unless they exist. */
export async function createReadSchema(client: Client, schema: string): Promise<void> {
  await client.query(`create schema if not exists ${schema}`);
  await client.query(consumersTableSql(schema));
  await client.query(tablesSql(schema));
}

/**
 * Half of each page is left free: a row that is updated stays on its page, and no index needs an update. `ordinal`
 * numbers the rows in order of their creation in the log: it is the same in every rebuild, so that lists keep their order
 * and cursors survive. `revision` is the last event in the row. `log_ordinal` numbers the events of the log from 1: totals
 * at any moment are a sum of the postings up to it.
 */
const tablesSql = (schema: string) => `
create table if not exists ${schema}.play_sessions (
  session_id text collate "C" primary key,
  ordinal bigint not null unique,
  revision integer not null,
  app_id text not null,
  environment text not null,
  user_id text not null,
  game_code text not null,
  currency text not null,
  currency_id integer not null,
  lock_amount numeric not null,
  balance numeric not null,
  total_bet numeric not null,
  total_win numeric not null,
  payout numeric,
  net numeric,
  late_rolled_back numeric not null,
  status text not null check (status in ('open', 'settled')),
  opened_at timestamptz not null,
  settled_at timestamptz
) with (fillfactor = 50);
create index if not exists play_sessions_of_app
  on ${schema}.play_sessions (app_id, environment, ordinal);
create index if not exists play_sessions_of_user
  on ${schema}.play_sessions (app_id, environment, user_id, ordinal);
create index if not exists play_sessions_open
  on ${schema}.play_sessions (app_id, environment, ordinal) where status = 'open';

create table if not exists ${schema}.accounts (
  stream text collate "C" primary key,
  ordinal bigint not null unique,
  revision integer not null,
  app_id text not null,
  environment text not null,
  user_id text not null,
  currency_id integer not null,
  available numeric not null check (available >= 0),
  held numeric not null check (held >= 0)
) with (fillfactor = 50);
create index if not exists accounts_of_user on ${schema}.accounts (app_id, environment, user_id);

create table if not exists ${schema}.holds (
  stream text collate "C" not null,
  hold_id text collate "C" not null,
  app_id text not null,
  environment text not null,
  user_id text not null,
  currency_id integer not null,
  purpose text not null,
  amount numeric not null,
  payout numeric,
  held_at_revision integer not null,
  closed_at_revision integer,
  primary key (stream, hold_id),
  check ((payout is null) = (closed_at_revision is null))
) with (fillfactor = 50);
create index if not exists holds_of_app on ${schema}.holds (app_id, environment, purpose);
create index if not exists holds_open
  on ${schema}.holds (app_id, environment, purpose) where payout is null;

create table if not exists ${schema}.postings (
  log_ordinal bigint not null,
  number smallint not null,
  stream text collate "C" not null,
  revision integer not null,
  app_id text not null,
  environment text not null,
  user_id text,
  currency_id integer not null,
  account text not null,
  subject text not null,
  amount numeric not null,
  previous_balance numeric not null,
  current_balance numeric not null,
  occurred_at timestamptz not null,
  primary key (log_ordinal, number),
  check (previous_balance + amount = current_balance)
);
create index if not exists postings_of_app on ${schema}.postings (app_id, environment, log_ordinal);

create table if not exists ${schema}.trial_balances (
  book text collate "C" primary key,
  ordinal bigint not null unique,
  app_id text not null,
  environment text not null,
  currency_id integer not null,
  account text not null,
  balance numeric not null
) with (fillfactor = 50);

create table if not exists ${schema}.moves (
  move_id text collate "C" primary key,
  ordinal bigint not null unique,
  revision integer not null,
  app_id text not null,
  environment text not null,
  owner_id text not null,
  operation text not null check (operation in ('deposit', 'cashOut', 'withdraw', 'sweep')),
  key text collate "C" not null,
  user_id text not null,
  currency_id integer,
  mint text not null,
  amount numeric not null,
  wallet_id text not null,
  from_address text not null,
  to_address text not null,
  status text not null check (status in ('pending', 'submitted', 'confirmed', 'failed')),
  attempts integer not null,
  signature text,
  slot numeric,
  error_code text,
  requested_at timestamptz not null,
  updated_at timestamptz not null
) with (fillfactor = 50);
create index if not exists moves_of_key on ${schema}.moves (app_id, environment, key);
create index if not exists moves_under_way
  on ${schema}.moves (app_id, environment, currency_id, ordinal) where status in ('pending', 'submitted');
create index if not exists moves_under_way_of_wallet
  on ${schema}.moves (wallet_id, ordinal) where status in ('pending', 'submitted');
create index if not exists moves_ended
  on ${schema}.moves (updated_at) where status in ('confirmed', 'failed');

create table if not exists ${schema}.pools (
  stream text collate "C" primary key,
  ordinal bigint not null unique,
  revision integer not null,
  app_id text not null,
  environment text not null,
  pool_id text collate "C" not null,
  currency_id integer not null,
  status text not null check (status in ('open', 'settled', 'refunded')),
  locked numeric not null,
  confirmed numeric not null,
  rake numeric,
  credits integer not null,
  last_credit text collate "C",
  credits_done integer not null,
  credits_done_at bigint not null,
  ended_by text collate "C",
  opened_at timestamptz not null,
  closed_at timestamptz
) with (fillfactor = 50);
create index if not exists pools_of_app on ${schema}.pools (app_id, environment, ordinal);
create index if not exists pools_open
  on ${schema}.pools (app_id, environment, ordinal) where status = 'open';

create table if not exists ${schema}.pool_stakes (
  stream text collate "C" not null,
  number integer not null,
  app_id text not null,
  environment text not null,
  bet_id text collate "C" not null,
  user_id text not null,
  currency_id integer not null,
  account text collate "C" not null,
  hold_id text collate "C" not null,
  amount numeric not null,
  status text not null check (status in ('locked', 'confirmed', 'released', 'settled', 'refunded')),
  payout numeric,
  credit_due boolean not null,
  confirm_by timestamptz not null,
  primary key (stream, number)
) with (fillfactor = 50);
create index if not exists pool_stakes_locked
  on ${schema}.pool_stakes (confirm_by) where status = 'locked';
create index if not exists pool_stakes_of_app on ${schema}.pool_stakes (app_id, environment);

create table if not exists ${schema}.referees (
  stream text collate "C" primary key,
  ordinal bigint not null unique,
  app_id text not null,
  environment text not null,
  user_id text not null,
  referrer_user_id text not null,
  attributed_at timestamptz not null
);
create index if not exists referees_of_referrer
  on ${schema}.referees (app_id, environment, referrer_user_id, ordinal);

create table if not exists ${schema}.commissions (
  stream text collate "C" primary key,
  ordinal bigint not null unique,
  revision integer not null,
  app_id text not null,
  environment text not null,
  idem_key text collate "C" not null,
  kind text not null check (kind in ('payout', 'distribution', 'withdrawal')),
  user_id text not null,
  currency_id integer not null,
  amount numeric not null,
  accruals integer not null
);
create index if not exists commissions_of_app on ${schema}.commissions (app_id, environment);

create table if not exists ${schema}.earnings (
  stream text collate "C" primary key,
  ordinal bigint not null unique,
  revision integer not null,
  app_id text not null,
  environment text not null,
  user_id text not null,
  currency_id integer not null,
  accrued numeric not null,
  withdrawn numeric not null check (withdrawn between 0 and accrued)
) with (fillfactor = 50);
create index if not exists earnings_of_user on ${schema}.earnings (app_id, environment, user_id);

create table if not exists ${schema}.earnings_entries (
  entry text collate "C" primary key,
  ordinal bigint not null unique,
  stream text collate "C" not null,
  app_id text not null,
  environment text not null,
  user_id text not null,
  currency_id integer not null,
  kind text not null check (kind in ('payout', 'distribution', 'withdrawal')),
  idem_key text collate "C" not null,
  amount numeric not null,
  level integer,
  source_user_id text,
  memo text,
  status text not null check (status in ('booked', 'returned')),
  occurred_at timestamptz not null
);
create index if not exists earnings_entries_of_user
  on ${schema}.earnings_entries (app_id, environment, user_id, ordinal);
`;
