/**
 * Records the play session in which each transactionUuid was used, to warn of one used in two: allowed, as a
 * uuid belongs to its session, yet typical of a caller that repeats a write under another session.
 */
import { inTurns, type Projection } from '@coffer/consumers';
import { type Client, type Queryable, textArray } from '@coffer/database';
import type { RecordedEvent } from '@coffer/event-store';
import type { BooksPlace, Warning } from './report.ts';

export interface TransactionUse extends BooksPlace {
  readonly sessionId: string;
  readonly transactionUuid: string;
}

/** The write that an event records; undefined for every other event. */
export type TransactionUseOf = (event: RecordedEvent) => TransactionUse | undefined;

/**
 * There are many rows, so they are short: a use is found by a digest of app, environment and uuid. An index that is filled
 * in random order costs more than all else, the more the longer it is: until the uses are compared there is none, and the
 * rows say what their digests are of. No plan depends on how they are spread, and a sample of them is 30,000 pages: autovacuum
 * does not take it. ADR 0088.
 */
export async function createTransactionUuids(client: Client, schema: string): Promise<void> {
  await client.query(`
    create table if not exists ${schema}.transaction_uuids (
      digest uuid not null,
      session_id text not null,
      used text
    ) with (autovacuum_analyze_threshold = 2147483647);
    create table if not exists ${schema}.shared_transaction_uuids (
      app_id text not null,
      environment text not null,
      transaction_uuid text not null,
      session_id text not null,
      primary key (app_id, environment, transaction_uuid, session_id)
    )`);
}

const hasIndex = async (db: Queryable, schema: string): Promise<boolean> => {
  const { rows } = await db.query<{ indexed: boolean }>(
    'select exists (select from pg_index where indrelid = $1::regclass and indisprimary) as indexed',
    [`${schema}.transaction_uuids`],
  );
  return rows[0]?.indexed === true;
};

/** https://www.postgresql.org/docs/18/errcodes-appendix.html */
const UNIQUE_VIOLATION = '23505';

/**
 * In a transaction: compares the uses so far with each other. From then on, each is compared as it comes. Building the
 * index tells whether any digest is there twice.
 */
export async function compareTransactionUuids(client: Client, schema: string): Promise<void> {
  if (await hasIndex(client, schema)) return;
  const uuids = `${schema}.transaction_uuids`;
  const index = `alter table ${uuids} add primary key (digest)`;
  await client.query('savepoint uuids');
  try {
    await client.query(index);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === UNIQUE_VIOLATION)) throw error;
    await client.query('rollback to savepoint uuids');
    await client.query(
      `insert into ${schema}.shared_transaction_uuids
       select distinct part[1], part[2], part[3], session_id
         from (select session_id, regexp_match(used, '^([^ ]+) ([^ ]+) (.*)$') as part from ${uuids}
                where digest in (select digest from ${uuids}
                                  group by digest having min(session_id) <> max(session_id))) shared
           on conflict do nothing`,
    );
    await client.query(
      `delete from ${uuids} later using ${uuids} first where first.digest = later.digest and first.ctid < later.ctid`,
    );
    await client.query(index);
  }
}

/** Few enough that the database begins with the first while the others are decoded. */
const USES_A_STATEMENT = 2_500;

const DIGEST = `md5(app_id || ' ' || environment || ' ' || transaction_uuid)::uuid`;
const USES = `json_to_recordset($1) as used(app_id text, environment text, transaction_uuid text, session_id text)`;

export function projectTransactionUuids(schema: string, useOf: TransactionUseOf): Projection {
  /** Undefined: not known. */
  let isIndexed: boolean | undefined;
  return {
    forget() {
      isIndexed = undefined;
    },
    async apply(db, events) {
      isIndexed ??= await hasIndex(db, schema);
      const record = isIndexed ? compared : kept;
      let uses: TransactionUse[] = [];
      const recording: Promise<void>[] = [];
      const begin = () => {
        const begun = record(db, uses);
        // A failure is seen when all are awaited.
        begun.catch(() => undefined);
        recording.push(begun);
        uses = [];
      };
      for await (const part of inTurns(events)) {
        for (const event of part) {
          const use = useOf(event);
          if (use) uses.push(use);
        }
        if (uses.length >= USES_A_STATEMENT) begin();
      }
      if (uses.length > 0) begin();
      await Promise.all(recording);
    },
  };

  async function kept(db: Queryable, uses: readonly TransactionUse[]): Promise<void> {
    await db.query({
      name: `keep ${schema}.transaction_uuids`,
      text: `insert into ${schema}.transaction_uuids (digest, session_id, used)
               select md5(used)::uuid, session_id, used from unnest($1::text[], $2::text[]) as uses(used, session_id)`,
      values: valuesOf(uses),
    });
  }

  async function compared(db: Queryable, uses: readonly TransactionUse[]): Promise<void> {
    const { rowCount } = await db.query({
      name: `use ${schema}.transaction_uuids`,
      text: `insert into ${schema}.transaction_uuids (digest, session_id)
               select md5(used)::uuid as digest, session_id from unnest($1::text[], $2::text[]) as uses(used, session_id)
              order by digest
               on conflict (digest) do nothing`,
      values: valuesOf(uses),
    });
    // All of them are new: none was used in another session.
    if (rowCount === uses.length) return;
    await db.query({
      text: `with shared as (
                 select used.*, first.session_id as first_session
                   from (select *, ${DIGEST} as digest from ${USES}) used
                   join ${schema}.transaction_uuids first using (digest)
                  where first.session_id <> used.session_id)
               insert into ${schema}.shared_transaction_uuids
               select app_id, environment, transaction_uuid, session_id from shared
               union
               select app_id, environment, transaction_uuid, first_session from shared
               on conflict do nothing`,
      values: [JSON.stringify(uses.map(rowOf))],
    });
  }
}

const valuesOf = (uses: readonly TransactionUse[]) => [
  textArray(
    uses.map(({ appId, environment, transactionUuid }) => `${appId} ${environment} ${transactionUuid}`),
  ),
  textArray(uses.map(({ sessionId }) => sessionId)),
];

const rowOf = ({ appId, environment, sessionId, transactionUuid }: TransactionUse) => ({
  app_id: appId,
  environment,
  transaction_uuid: transactionUuid,
  session_id: sessionId,
});

/** At most 100. */
export async function sharedTransactionUuids(
  db: Queryable,
  schema: string,
  { appId, environment }: BooksPlace,
): Promise<readonly Warning[]> {
  const { rows } = await db.query<{ transaction_uuid: string; sessions: string[] }>(
    `select transaction_uuid, array_agg(session_id order by session_id) as sessions
       from ${schema}.shared_transaction_uuids where app_id = $1 and environment = $2
      group by transaction_uuid order by transaction_uuid limit 100`,
    [appId, environment],
  );
  return rows.map(({ transaction_uuid, sessions }) => {
    return { code: 'transaction_uuid_in_two_sessions', subject: transaction_uuid, sessions };
  });
}
