/** The queue of deliveries in the database. Several senders share it; each statement is a transaction of its own. */
import type { Queryable } from '@coffer/database';
import { type LaneBound, MOST_IN_FLIGHT } from './lanes.ts';
import type { PostOutcome } from './post.ts';
import { ATTEMPT_LOST_AFTER_MS, DISABLE_AFTER_MS, GIVE_UP_AFTER_MS, RETRY_DELAYS_MS } from './schedule.ts';

/** A delivery that this sender, and no other, now attempts. */
export interface Claimed {
  readonly subscriptionId: string;
  readonly sequence: string;
  /** Of this attempt, from 1. */
  readonly number: number;
  readonly previousSequence: string | null;
  readonly eventId: string;
  readonly type: string;
  readonly body: string;
}

export interface EndedAttempt extends Pick<Claimed, 'subscriptionId' | 'sequence' | 'number'>, PostOutcome {
  readonly succeeded: boolean;
}

/**
 * For every lane as many as it has room for, first attempts before retries. Notes the attempts, so that none is lost
 * with its sender: it shows as begun and, when it counts as broken off, is made again. An attempt that comes too late
 * is given up instead.
 */
export async function claimDue(
  db: Queryable,
  bounds: readonly LaneBound[],
  now: Date,
): Promise<readonly Claimed[]> {
  const { rows } = await db.query<Claimed>(claimQuery(bounds, now));
  return rows;
}

/** For a spec that looks at its plan. */
export const claimQuery = (bounds: readonly LaneBound[], now: Date) => ({
  name: 'webhooks-claim',
  text: CLAIM,
  values: [
    bounds.map(({ subscriptionId }) => subscriptionId),
    bounds.map(({ bound }) => bound),
    bounds.map(({ inFlight }) => inFlight),
    MOST_IN_FLIGHT,
    now,
    new Date(now.getTime() - GIVE_UP_AFTER_MS),
    new Date(now.getTime() + ATTEMPT_LOST_AFTER_MS),
  ],
});

// `for update` with `skip locked` on each arm: a delivery that another sender is claiming is not waited for.
const due = (retries: 0 | 1) => `select sequence from (
  select d.sequence from records.webhook_deliveries d
  where d.subscription_id = lane.subscription_id and d.state = 'pending'
    and least(d.attempts, 1) = ${retries} and d.next_attempt_at <= $5::timestamptz
  order by d.next_attempt_at limit lane.room for update skip locked) as due_${retries}`;

const CLAIM = `
  with lane as materialized (
    select s.subscription_id,
      greatest(1, least(coalesce(known.bound, case when s.failing_since is null then 4 else 1 end),
        $4::integer / count(*) over ())) - coalesce(known.in_flight, 0) as room
    from records.webhook_subscriptions s
    left join unnest($1::text[], $2::integer[], $3::integer[]) as known (subscription_id, bound, in_flight)
      using (subscription_id)
    where s.state = 'enabled'
  ), due as materialized (
    select lane.subscription_id, picked.sequence
    from lane cross join lateral (${due(0)} union all ${due(1)} limit lane.room) as picked
    where lane.room > 0
  ), claimed as (
    update records.webhook_deliveries d set
      state = case when d.first_attempt_at < $6::timestamptz then 'failed' else 'pending' end,
      attempts = d.attempts + case when d.first_attempt_at < $6::timestamptz then 0 else 1 end,
      first_attempt_at = coalesce(d.first_attempt_at, $5::timestamptz),
      next_attempt_at = $7::timestamptz
    from due where d.subscription_id = due.subscription_id and d.sequence = due.sequence
    returning d.subscription_id, d.app_id, d.sequence, d.attempts, d.previous_sequence, d.state
  ), begun as (
    insert into records.webhook_attempts (subscription_id, sequence, number, started_at)
    select subscription_id, sequence, attempts, $5::timestamptz from claimed where state = 'pending'
  )
  select c.subscription_id as "subscriptionId", c.sequence, c.attempts as number,
    c.previous_sequence as "previousSequence", e.event_id as "eventId", e.type, e.body
  from claimed c join records.webhook_events e on e.app_id = c.app_id and e.sequence = c.sequence
  where c.state = 'pending'`;

/**
 * What became of attempts: delivered, to be made again, or given up. A success counts whenever it is known, a failure only
 * if the delivery has not been attempted again since. An endpoint that has failed for too long is disabled.
 */
export async function recordEnded(db: Queryable, ended: readonly EndedAttempt[], now: Date): Promise<void> {
  await db.query({
    name: 'webhooks-record',
    text: RECORD,
    values: [
      ended.map(({ subscriptionId }) => subscriptionId),
      ended.map(({ sequence }) => sequence),
      ended.map(({ number }) => number),
      ended.map(({ durationMs }) => durationMs),
      ended.map(({ status }) => status),
      ended.map(({ error }) => error),
      ended.map(({ answerHead }) => answerHead),
      ended.map(({ succeeded }) => succeeded),
      now,
      RETRY_DELAYS_MS,
      new Date(now.getTime() - DISABLE_AFTER_MS),
    ],
  });
}

const GIVES_UP = `not lane.succeeds and lane.gave_up and s.state = 'enabled' and s.failing_since <= $11::timestamptz`;

const RECORD = `
  with ended as (
    select * from unnest($1::text[], $2::bigint[], $3::integer[], $4::integer[], $5::smallint[], $6::text[], $7::text[],
      $8::boolean[]) as ended (subscription_id, sequence, number, duration_ms, status, error, answer_head, succeeded)
  ), attempt as (
    update records.webhook_attempts a
    set duration_ms = ended.duration_ms, status = ended.status, error = ended.error, answer_head = ended.answer_head
    from ended
    where a.subscription_id = ended.subscription_id and a.sequence = ended.sequence and a.number = ended.number
  ), delivery as (
    update records.webhook_deliveries d set
      failures = d.failures + (not ended.succeeded)::integer,
      state = case when ended.succeeded then 'delivered' when d.failures >= cardinality($10::integer[]) then 'failed'
        else 'pending' end,
      next_attempt_at = $9::timestamptz + coalesce(($10::integer[])[d.failures + 1], 0) * interval '1 millisecond'
    from ended
    where d.subscription_id = ended.subscription_id and d.sequence = ended.sequence and d.state = 'pending'
      and (ended.succeeded or d.attempts = ended.number)
    returning d.subscription_id, d.state
  ), lane as (
    select subscription_id, bool_or(state = 'delivered') as succeeds, bool_or(state = 'failed') as gave_up
    from delivery group by subscription_id
  )
  update records.webhook_subscriptions s set
    failing_since = case when lane.succeeds then null else coalesce(s.failing_since, $9::timestamptz) end,
    state = case when ${GIVES_UP} then 'disabled' else s.state end,
    disabled_reason = case when ${GIVES_UP} then 'failing' else s.disabled_reason end,
    epoch = s.epoch + case when ${GIVES_UP} then 1 else 0 end
  from lane
  where s.subscription_id = lane.subscription_id
    and (case when lane.succeeds then s.failing_since is not null else s.failing_since is null or ${GIVES_UP} end)`;

/** Marks failed what is pending for deleted subscriptions, a part at a time; one with nothing left is forgotten. */
export async function sweepDeleted(db: Queryable): Promise<void> {
  const { rows } = await db.query<{ id: string }>(
    "select subscription_id as id from records.webhook_subscriptions where state = 'deleted'",
  );
  for (const { id } of rows) {
    while ((await failPending(db, id)) === SWEPT_AT_ONCE);
    await db.query(
      `delete from records.webhook_subscriptions s where subscription_id = $1 and state = 'deleted' and not exists (
         select from records.webhook_deliveries d where d.subscription_id = s.subscription_id and d.state = 'pending')`,
      [id],
    );
  }
}

const SWEPT_AT_ONCE = 1_000;

/** At most so many that nobody waits, without those that a sender is writing. Returns how many. */
export async function failPending(db: Queryable, subscriptionId: string): Promise<number> {
  const { rowCount } = await db.query(
    `update records.webhook_deliveries d set state = 'failed'
     from (select sequence from records.webhook_deliveries
       where subscription_id = $1 and state = 'pending' order by sequence limit ${SWEPT_AT_ONCE} for update skip locked) as part
     where d.subscription_id = $1 and d.sequence = part.sequence`,
    [subscriptionId],
  );
  return rowCount ?? 0;
}
