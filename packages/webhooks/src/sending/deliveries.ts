/**
 * The queue of deliveries in the database. Who holds a lane reads what is due in it; a delivery is written once more when its
 * attempt has ended. Each statement is a transaction of its own. What writes deliveries of rounds locks these rounds first, by
 * their ids: a sender that was taken for dead may still record, and neither may wait for the other in the middle.
 */
import type { Queryable } from '@coffer/database';
import type { Due, LaneNeed } from './lanes.ts';
import { isDelivered, type PostOutcome } from './post.ts';
import { DISABLE_AFTER_MS, GIVE_UP_AFTER_MS, RETRY_DELAYS_MS } from './schedule.ts';

export interface EndedAttempt extends Pick<Due, 'subscriptionId' | 'sequence' | 'number'> {
  readonly startedAt: Date;
  /** Undefined: it was broken off, and says nothing about the endpoint. */
  readonly outcome: PostOutcome | undefined;
}

/** The ids of rounds. */
export interface EndedRounds {
  /** Of which attempts are recorded. */
  readonly touched: readonly string[];
  /** Those, and others, of which nothing is left. */
  readonly over: readonly string[];
}

/** So many first attempts go before a retry; with none at all, a backlog would last until retries are given up. */
const FIRST_TO_A_RETRY = 4;

/**
 * What is due in these lanes, first attempts before retries, of which there is a part in any case; without what their holder
 * has already. An attempt that comes too late is given up instead.
 */
export async function readDue(db: Queryable, needs: readonly LaneNeed[], now: Date): Promise<readonly Due[]> {
  const { rows } = await db.query<DueRow>(dueQuery(needs, now));
  const events = new Map<string, ToldEvent>();
  for (const row of rows) if (row.subscriptionId === null) events.set(`${row.appId} ${row.sequence}`, row);
  const due: Due[] = [];
  for (const row of rows) {
    if (row.subscriptionId === null) continue;
    const { subscriptionId, appId, sequence, number, previousSequence } = row;
    const event = events.get(`${appId} ${sequence}`);
    if (!event) continue;
    const { eventId, type, body } = event;
    due.push({ subscriptionId, sequence, number, previousSequence, eventId, type, body });
  }
  return due;
}

type ToldEvent = Pick<Due, 'eventId' | 'type' | 'body'>;

/** A delivery, or an event that deliveries tell: several endpoints of an app are often told the same one. */
type DueRow = Pick<Due, 'sequence'> & { readonly appId: string } & (
    | Omit<Due, 'sequence' | keyof ToldEvent>
    | ({ readonly subscriptionId: null } & ToldEvent)
  );

/** For a spec that looks at its plan. */
export const dueQuery = (needs: readonly LaneNeed[], now: Date) => ({
  name: 'webhooks-due',
  text: DUE,
  values: [
    needs.map(({ subscriptionId }) => subscriptionId),
    numbers(needs.map(({ ahead }) => ahead)),
    numbers(needs.map(({ room }) => room)),
    needs.map(({ taken }) => numbers(taken)),
    now,
    new Date(now.getTime() - GIVE_UP_AFTER_MS),
  ],
});

/**
 * Pending. In these words it cannot be looked for in the index of what is due, which, as long as PostgreSQL knows little of
 * the table, it would rather read from end to end for each delivery than take the primary key.
 */
const IS_OPEN = `d.state not in ('delivered', 'failed')`;

const dueWhere = (retries: 0 | 1) => `
  select d.sequence, d.app_id, d.attempts + 1 as number, d.previous_sequence, d.first_attempt_at
  from records.webhook_deliveries d
  where d.subscription_id = lane.subscription_id and d.state = 'pending' and least(d.attempts, 1) = ${retries}
    and d.next_attempt_at <= $5::timestamptz and d.sequence <> all(lane.taken)
  order by d.next_attempt_at`;

const DUE = `
  with due as materialized (
    select lane.subscription_id, picked.*
    from unnest($1::text[], $2::integer[], $3::integer[], $4::text[]) as need (subscription_id, ahead, room, taken),
      lateral (select need.subscription_id, need.ahead, need.room, need.taken::bigint[] as taken) as lane,
      lateral (
        with first as materialized (${dueWhere(0)} limit lane.ahead)
        select * from first
        union all
        (${dueWhere(1)} limit greatest(
          ceil(lane.ahead / ${FIRST_TO_A_RETRY}.0)::integer, lane.room - (select count(*) from first)))
      ) as picked
  ), late as (
    update records.webhook_deliveries d set state = 'failed'
    from due
    where d.subscription_id = due.subscription_id and d.sequence = due.sequence and ${IS_OPEN}
      and due.first_attempt_at < $6::timestamptz
  ), told as materialized (
    select * from due where due.first_attempt_at >= $6::timestamptz or due.first_attempt_at is null
  )
  select subscription_id as "subscriptionId", app_id as "appId", sequence, number,
    previous_sequence as "previousSequence", null as "eventId", null as type, null as body
  from told
  union all
  select null, e.app_id, e.sequence, null, null, e.event_id, e.type, e.body
  from (select distinct app_id, sequence from told) as one join records.webhook_events e using (app_id, sequence)`;

/** Notes attempts before they are made, so that none is lost with its sender. Undefined if the sender holds no lanes. */
export async function noteRound(
  db: Queryable,
  senderId: string,
  begun: readonly Pick<Due, 'subscriptionId' | 'sequence' | 'number'>[],
  now: Date,
): Promise<string | undefined> {
  const { rows } = await db.query<{ roundId: string }>({
    name: 'webhooks-round',
    text: `insert into records.webhook_rounds (sender_id, started_at, subscription_ids, sequences, numbers)
      select $1, $2, $3, $4, $5
      where exists (select from records.webhook_senders where sender_id = $1 and alive_until > $2)
      returning round_id as "roundId"`,
    values: [
      senderId,
      now,
      begun.map(({ subscriptionId }) => subscriptionId),
      numbers(begun.map(({ sequence }) => sequence)),
      numbers(begun.map(({ number }) => number)),
    ],
  });
  return rows[0]?.roundId;
}

/** Attempts whose sender died: they show as begun, do not count as failures, and are made again. */
export async function settleLost(db: Queryable, now: Date): Promise<void> {
  await db.query({ name: 'webhooks-settle', text: SETTLE, values: [now] });
}

const SETTLE = `
  with locked as materialized (
    select round_id from records.webhook_rounds r
    where not exists (select from records.webhook_senders s where s.sender_id = r.sender_id and s.alive_until > $1)
    order by round_id for update
  ), round as (
    delete from records.webhook_rounds where round_id in (select round_id from locked)
    returning started_at, subscription_ids, sequences, numbers
  ), lost as (
    select one.*, round.started_at
    from round, unnest(subscription_ids, sequences, numbers) as one (subscription_id, sequence, number)
  ), delivery as (
    update records.webhook_deliveries d set
      attempts = lost.number,
      first_attempt_at = coalesce(d.first_attempt_at, lost.started_at)
    from lost
    where d.subscription_id = lost.subscription_id and d.sequence = lost.sequence and ${IS_OPEN}
      and d.attempts = lost.number - 1
  )
  insert into records.webhook_attempts (subscription_id, sequence, number, started_at)
  select lost.subscription_id, lost.sequence, lost.number, lost.started_at
  from lost join records.webhook_deliveries d using (subscription_id, sequence)
  where lost.number > 1 or d.first_started_at is null
  on conflict (subscription_id, sequence, number) do nothing`;

/**
 * What became of attempts: delivered, to be made again, or given up; and the rounds of which nothing is left. A success
 * counts whenever it is known, a failure only if the attempt does not count as broken off. An endpoint that has failed for
 * too long is disabled.
 */
export async function recordEnded(
  db: Queryable,
  ended: readonly EndedAttempt[],
  rounds: EndedRounds,
  now: Date,
): Promise<void> {
  await db.query({
    name: 'webhooks-record',
    text: RECORD,
    values: [
      ended.map(({ subscriptionId }) => subscriptionId),
      numbers(ended.map(({ sequence }) => sequence)),
      numbers(ended.map(({ number }) => number)),
      numbers(ended.map(({ startedAt }) => startedAt.getTime())),
      numbers(ended.map(({ outcome }) => outcome?.durationMs)),
      numbers(ended.map(({ outcome }) => outcome?.status)),
      ended.map(({ outcome }) => outcome?.error),
      ended.map(({ outcome }) => outcome?.answerHead),
      numbers(ended.map(({ outcome }) => outcome && Number(isDelivered(outcome)))),
      now,
      RETRY_DELAYS_MS,
      new Date(now.getTime() - DISABLE_AFTER_MS),
      rounds.over,
      [...rounds.touched, ...rounds.over],
    ],
  });
}

const GIVES_UP = `not lane.succeeds and lane.gave_up and s.state = 'enabled' and s.failing_since <= $12::timestamptz`;

/** The delivery's own row keeps it. Null of one that is broken off. */
const AT_FIRST = '(ended.number = 1 and ended.succeeded)';

/**
 * A first success is written with its delivery, and not again if this is asked for once more. The conditions are written so
 * that the planner cannot join: it would compare each attempt with all others, or read all deliveries.
 */
const RECORD = `
  with locked as materialized (
    select round_id from records.webhook_rounds where round_id = any($14::bigint[]) order by round_id for update
  ), over as (
    delete from records.webhook_rounds where round_id in (select round_id from locked) and round_id = any($13::bigint[])
  ), ended as (
    select subscription_id, sequence, number, to_timestamp(started_ms / 1000) as started_at, duration_ms, status, error,
      answer_head, succeeded = 1 as succeeded
    from unnest($1::text[], $2::bigint[], $3::integer[], $4::float8[], $5::integer[], $6::smallint[], $7::text[],
      $8::text[], $9::integer[])
      as ended (subscription_id, sequence, number, started_ms, duration_ms, status, error, answer_head, succeeded),
      (select count(*) from locked) as once_locked
  ), delivery as (
    update records.webhook_deliveries d set
      attempts = greatest(d.attempts, ended.number),
      first_attempt_at = coalesce(d.first_attempt_at, ended.started_at),
      failures = d.failures + (ended.succeeded is false)::integer,
      state = case when ended.succeeded then 'delivered'
        when ended.succeeded is false and d.failures >= cardinality($11::integer[]) then 'failed' else 'pending' end,
      next_attempt_at = case when ended.succeeded is false
        then $10::timestamptz + coalesce(($11::integer[])[d.failures + 1], 0) * interval '1 millisecond'
        else d.next_attempt_at end,
      first_started_at = case when ${AT_FIRST} then ended.started_at else d.first_started_at end,
      first_duration_ms = case when ${AT_FIRST} then ended.duration_ms else d.first_duration_ms end,
      first_status = case when ${AT_FIRST} then ended.status else d.first_status end,
      first_answer_head = case when ${AT_FIRST} then ended.answer_head else d.first_answer_head end
    from ended
    where d.subscription_id = ended.subscription_id and d.sequence = ended.sequence and ${IS_OPEN}
      and (ended.succeeded or d.attempts = ended.number - 1)
    returning d.subscription_id, d.sequence, d.state, ended.succeeded, ended.number
  ), attempt as (
    insert into records.webhook_attempts
      (subscription_id, sequence, number, started_at, duration_ms, status, error, answer_head)
    select subscription_id, sequence, number, started_at, duration_ms, status, error, answer_head from ended
    where (subscription_id, sequence) not in (
        select ended.subscription_id, ended.sequence from delivery as ended where ${AT_FIRST})
      and not (${AT_FIRST} and (select d.first_started_at is not null from records.webhook_deliveries d
        where d.subscription_id = ended.subscription_id and d.sequence = ended.sequence))
    on conflict (subscription_id, sequence, number) do update set
      duration_ms = excluded.duration_ms, status = excluded.status, error = excluded.error,
      answer_head = excluded.answer_head
  ), lane as (
    select subscription_id, bool_or(succeeded) as succeeds, bool_or(state = 'failed') as gave_up
    from delivery where succeeded is not null group by subscription_id
  )
  update records.webhook_subscriptions s set
    failing_since = case when lane.succeeds then null else coalesce(s.failing_since, $10::timestamptz) end,
    state = case when ${GIVES_UP} then 'disabled' else s.state end,
    disabled_reason = case when ${GIVES_UP} then 'failing' else s.disabled_reason end,
    epoch = s.epoch + case when ${GIVES_UP} then 1 else 0 end
  from lane
  where s.subscription_id = lane.subscription_id
    and (case when lane.succeeds then s.failing_since is not null else s.failing_since is null or ${GIVES_UP} end)`;

/** As PostgreSQL writes an array. The driver would quote each element, which takes a microsecond. */
const numbers = (values: readonly (string | number | null | undefined)[]): string =>
  `{${values.map((value) => value ?? 'null').join()}}`;

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
  await db.query(
    `delete from records.webhook_lanes l
     where not exists (select from records.webhook_subscriptions s where s.subscription_id = l.subscription_id)
       and not exists (select from records.webhook_deliveries d where d.subscription_id = l.subscription_id)`,
  );
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
