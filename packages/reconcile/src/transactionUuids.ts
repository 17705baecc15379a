/**
 * Records the play session in which each transactionUuid was used, to warn of one used in two: allowed, as a
 * uuid belongs to its session, yet typical of a caller that repeats a write under another session.
 */
import { inTurns, type Projection } from '@coffer/consumers';
import type { Client, Queryable } from '@coffer/database';
import type { RecordedEvent } from '@coffer/event-store';
import type { BooksPlace, Warning } from './report.ts';

export interface TransactionUse extends BooksPlace {
  readonly sessionId: string;
  readonly transactionUuid: string;
}

/** The write that an event records; undefined for every other event. */
export type TransactionUseOf = (event: RecordedEvent) => TransactionUse | undefined;

/** There are many rows, so they are short: a use is found by a digest of app, environment and uuid. */
export async function createTransactionUuids(client: Client, schema: string): Promise<void> {
  await client.query(`
    create table if not exists ${schema}.transaction_uuids (
      digest uuid primary key,
      session_id text not null
    );
    create table if not exists ${schema}.shared_transaction_uuids (
      app_id text not null,
      environment text not null,
      transaction_uuid text not null,
      session_id text not null,
      primary key (app_id, environment, transaction_uuid, session_id)
    )`);
}

/** In the order of the index, which is quicker to fill the more there are; yet few enough that the database begins with the first while the others are decoded. */
const USES_A_STATEMENT = 2_500;

const DIGEST = `md5(app_id || ' ' || environment || ' ' || transaction_uuid)::uuid`;
const USES = `json_to_recordset($1) as used(app_id text, environment text, transaction_uuid text, session_id text)`;

export function projectTransactionUuids(schema: string, useOf: TransactionUseOf): Projection {
  return {
    async apply(db, events) {
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

  async function record(db: Queryable, uses: readonly TransactionUse[]): Promise<void> {
    const { rowCount } = await db.query({
      name: `use ${schema}.transaction_uuids`,
      text: `insert into ${schema}.transaction_uuids (digest, session_id)
               select md5(used)::uuid as digest, session_id from unnest($1::text[], $2::text[]) as uses(used, session_id)
              order by digest
               on conflict (digest) do nothing`,
      values: [
        uses.map(({ appId, environment, transactionUuid }) => `${appId} ${environment} ${transactionUuid}`),
        uses.map(({ sessionId }) => sessionId),
      ],
    });
    // All of them are new: none was used in another session.
    if (rowCount === uses.length) return;
    await db.query({
      name: `share ${schema}.transaction_uuids`,
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
