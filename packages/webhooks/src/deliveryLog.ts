/** What became of the deliveries of a subscription, and sending them again. Newest first. */
import { given, type Queryable, rawSql, rowsOf, sql } from '@coffer/database';
import type { Environment } from '@coffer/kernel';
import type { EventType } from './domain/eventTypes.ts';
import { feedQuery } from './feed.ts';

export interface LogFilter {
  readonly type?: EventType | undefined;
  readonly objectId?: string | undefined;
  readonly state?: 'pending' | 'delivered' | 'failed' | undefined;
  /** When the event happened. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  /** Only those with a lower number. */
  readonly before?: bigint | undefined;
  readonly limit: number;
}

interface Attempt {
  readonly number: number;
  readonly startedAt: Date;
  readonly durationMs: number | null;
  readonly status: number | null;
  /** `unknown`: it is under way, or its sender died. */
  readonly error: string | null;
  readonly answerHead: string | null;
}

interface Delivery {
  readonly sequence: string;
  readonly eventId: string;
  readonly type: EventType;
  readonly objectId: string;
  readonly createdAt: Date;
  readonly state: 'pending' | 'delivered' | 'failed';
  readonly nextAttemptAt: Date | null;
}

export async function deliveriesOf(
  db: Queryable,
  appId: string,
  subscriptionId: string,
  { type, objectId, state, since, until, before, limit }: LogFilter,
): Promise<readonly (Delivery & { readonly attempts: readonly Attempt[] })[]> {
  const query = sql('records.webhook_deliveries as d')
    .join('records.webhook_events as e', (on) => on.on('e.app_id', 'd.app_id').on('e.sequence', 'd.sequence'))
    .select(
      rawSql(`d.sequence, e.event_id as "eventId", e.type, e.object_id as "objectId", e.created_at as "createdAt",
        d.state, case when d.state = 'pending' then d.next_attempt_at end as "nextAttemptAt"`),
    )
    .where(
      given({
        'd.subscription_id': subscriptionId,
        'd.app_id': appId,
        'e.type': type,
        'e.object_id': objectId,
        'd.state': state,
      }),
    )
    .orderBy('d.sequence', 'desc')
    .limit(limit);
  if (since) query.where('e.created_at', '>=', since);
  if (until) query.where('e.created_at', '<', until);
  if (before !== undefined) query.where('d.sequence', '<', String(before));
  const deliveries = await rowsOf<Delivery>(db, query);
  const attempts = await attemptsOf(
    db,
    subscriptionId,
    deliveries.map(({ sequence }) => sequence),
  );
  return deliveries.map((delivery) => ({
    ...delivery,
    attempts: attempts.filter(({ sequence }) => sequence === delivery.sequence).map(withoutSequence),
  }));
}

const withoutSequence = ({ sequence: _, ...attempt }: Attempt & { readonly sequence: string }): Attempt =>
  attempt;

async function attemptsOf(db: Queryable, subscriptionId: string, sequences: readonly string[]) {
  const { rows } = await db.query<Attempt & { readonly sequence: string }>(
    `with first as (
       select sequence, first_started_at as started_at, first_duration_ms as duration_ms, first_status as status,
         first_answer_head as answer_head
       from records.webhook_deliveries
       where subscription_id = $1 and sequence = any($2::bigint[]) and first_started_at is not null
     ), recorded as (
       select sequence, 1 as number, started_at, duration_ms, status, null as error, answer_head from first
       union all
       select sequence, number, started_at, duration_ms, status, error, answer_head
       from records.webhook_attempts a where subscription_id = $1 and sequence = any($2::bigint[])
         -- One that was taken for lost before it succeeded.
         and not (number = 1 and exists (select from first where first.sequence = a.sequence))
     ), begun as (
       select one.sequence, one.number, r.started_at
       from records.webhook_rounds r,
         unnest(subscription_ids, sequences, numbers) as one (subscription_id, sequence, number)
       where one.subscription_id = $1 and one.sequence = any($2::bigint[])
         and not exists (select from recorded a where a.sequence = one.sequence and a.number = one.number)
     )
     select sequence, number, started_at as "startedAt", duration_ms as "durationMs", status,
       case when duration_ms is null then 'unknown' else error end as error, answer_head as "answerHead"
     from (select * from recorded union all select *, null, null, null, null from begun) as attempt
     order by sequence, number`,
    [subscriptionId, sequences],
  );
  return rows;
}

/** So many at once that nobody waits. */
export const RESENT_AT_ONCE = 1_000;

/** A deletion waits for those that are sent again, and then fails them; after it, there are none. */
const IF_ENABLED = `with enabled as (
    select since_sequence from records.webhook_subscriptions where subscription_id = $2 and state = 'enabled' for key share
  )`;

interface Recipient {
  readonly id: string;
  readonly events: readonly EventType[] | null;
  readonly environment: Environment | null;
}

/**
 * The events of these numbers that are for the subscription are delivered once more, with all attempts ahead of them;
 * also those from before it was made. Returns how many.
 *
 * One that was never queued, because it happened while the subscription was disabled or was not there yet, is told the
 * event before it that matches, be that delivered or not: whoever has not received that one has missed it. If that one
 * may have been among those no longer kept, it is told the last of these. Before the subscription there was nothing for it.
 */
export async function resendRange(
  db: Queryable,
  appId: string,
  { id, events, environment }: Recipient,
  { from, to }: { readonly from: bigint; readonly to: bigint },
  now: Date,
): Promise<number> {
  const { rows } = await db.query<{ sequence: number }>(
    feedQuery(
      { appId, environment: environment ?? undefined, types: events ?? undefined },
      'upTo',
      Number(from) - 1,
      1,
    ),
  );
  const before = rows[0]?.sequence ?? null;
  const { rowCount } = await db.query(
    `${IF_ENABLED}
     insert into records.webhook_deliveries as d
       (subscription_id, sequence, app_id, previous_sequence, next_attempt_at)
     select $2, e.sequence, e.app_id,
       nullif(greatest(lag(e.sequence, 1, $8::bigint) over (order by e.sequence), pruned_sequence, since_sequence),
         since_sequence),
       $7
     from enabled, records.webhook_events e join records.webhook_sequences using (app_id)
     where e.app_id = $1 and e.sequence between $3 and $4
       and ($5::text[] is null or e.type = any($5)) and ($6::text is null or e.environment = $6)
     on conflict (subscription_id, sequence) do update
     set state = 'pending', failures = 0, first_attempt_at = null, next_attempt_at = excluded.next_attempt_at
     where d.state <> 'pending'`,
    [appId, id, String(from), String(to), events, environment, now, before],
  );
  return rowCount ?? 0;
}

/** Those that were given up since, the oldest first. Returns how many; more may remain if it is `RESENT_AT_ONCE`. */
export async function resendFailed(
  db: Queryable,
  appId: string,
  subscriptionId: string,
  since: Date,
  now: Date,
): Promise<number> {
  const { rowCount } = await db.query(
    `${IF_ENABLED}
     update records.webhook_deliveries d
     set state = 'pending', failures = 0, first_attempt_at = null, next_attempt_at = $4
     from (select d.sequence from records.webhook_deliveries d
       join records.webhook_events e on e.app_id = d.app_id and e.sequence = d.sequence
       where d.subscription_id = $2 and d.app_id = $1 and d.state = 'failed' and e.created_at >= $3
         and exists (select from enabled)
       order by d.sequence limit ${RESENT_AT_ONCE} for update of d) as failed
     where d.subscription_id = $2 and d.sequence = failed.sequence`,
    [appId, subscriptionId, since, now],
  );
  return rowCount ?? 0;
}

/** Of the last day, but for what waits now. */
export async function statisticsOf(db: Queryable, subscriptionId: string, now: Date) {
  const since = new Date(now.getTime() - 24 * 60 * 60_000);
  const { rows } = await db.query<{
    pending: number;
    attempts: number;
    succeeded: number;
    p50DurationMs: number | null;
    p99DurationMs: number | null;
  }>(
    `select
       (select count(*)::integer from records.webhook_deliveries
        where subscription_id = $1 and state = 'pending') as pending,
       count(*)::integer as attempts,
       count(*) filter (where status between 200 and 299)::integer as succeeded,
       percentile_disc(0.5) within group (order by duration_ms) as "p50DurationMs",
       percentile_disc(0.99) within group (order by duration_ms) as "p99DurationMs"
     from (
       select duration_ms, status from records.webhook_attempts
       where subscription_id = $1 and started_at >= $2 and duration_ms is not null
       union all
       select first_duration_ms, first_status from records.webhook_deliveries
       where subscription_id = $1 and first_started_at >= $2
     ) as attempt`,
    [subscriptionId, since],
  );
  const [row] = rows;
  if (!row) throw new Error('An aggregate without a row.');
  return row;
}
