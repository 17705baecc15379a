/**
 * Which sender holds which lanes. Each holds an equal part of them, so that nobody else reads what is due there, and a
 * delivery need not be claimed row by row. A sender that was not seen for a while holds none.
 */
import { type Pool, type Queryable, withTransaction } from '@coffer/database';
import type { HeldLane } from './lanes.ts';

/** So long after its last sign of life the lanes of a sender are free. */
export const ALIVE_FOR_MS = 5_000;
const RENEWED_AFTER_MS = 1_000;

interface Holding {
  readonly lanes: readonly HeldLane[];
  /** How many more than its part this sender holds. */
  readonly excess: number;
}

interface Look {
  readonly lanes: readonly HeldLane[];
  readonly share: number;
  readonly free: number;
}

/** Shows that this sender lives, and takes what is free of its part. */
export async function holdLanes(pool: Pool, senderId: string, now: Date): Promise<Holding> {
  await renew(pool, senderId, now);
  const seen = await look(pool, senderId, now);
  const { lanes, share } =
    seen.free > 0 && seen.lanes.length < seen.share ? await takeFree(pool, senderId, now) : seen;
  return { lanes, excess: Math.max(0, lanes.length - share) };
}

async function renew(db: Queryable, senderId: string, now: Date): Promise<void> {
  await db.query({
    name: 'webhooks-renew',
    // Unless it is due, nothing is locked, and no commit has to reach the disk. Nor does one that only shows a life.
    text: `insert into records.webhook_senders (sender_id, alive_until)
      select $1, $2::timestamptz where not exists (
        select from records.webhook_senders
        where sender_id = $1 and alive_until >= $2::timestamptz - $3 * interval '1 millisecond'
      )
      on conflict (sender_id) do update set alive_until = excluded.alive_until
      returning set_config('synchronous_commit', 'off', true)`,
    values: [senderId, new Date(now.getTime() + ALIVE_FOR_MS), RENEWED_AFTER_MS],
  });
}

/** A disabled or deleted subscription has no lane that anybody holds. */
const SEEN = `
  with live as materialized (
    select sender_id from records.webhook_senders where alive_until > $2
  ), lane as materialized (
    select s.subscription_id, s.failing_since, live.sender_id as holder
    from records.webhook_subscriptions s
    join records.webhook_lanes l using (subscription_id)
    left join live on live.sender_id = l.sender_id
    where s.state = 'enabled'
  ), share as (
    select ceil(count(*)::float8 / greatest(1, (select count(*) from live)))::integer as share,
      (count(*) filter (where holder is null))::integer as free
    from lane
  )`;

async function look(db: Queryable, senderId: string, now: Date): Promise<Look> {
  const { rows } = await db.query<Omit<Look, 'lanes'> & { id: string | null; isFailing: boolean }>({
    name: 'webhooks-look',
    text: `${SEEN}
      select share, free, lane.subscription_id as id, lane.failing_since is not null as "isFailing"
      from share left join lane on lane.holder = $1`,
    values: [senderId, now],
  });
  const [first] = rows;
  if (!first) throw new Error('An aggregate without a row.');
  return {
    share: first.share,
    free: first.free,
    lanes: rows.flatMap(({ id, isFailing }) => (id === null ? [] : [{ subscriptionId: id, isFailing }])),
  };
}

/** One sender after the other, so that none takes what another has just taken. */
const takeFree = (pool: Pool, senderId: string, now: Date): Promise<Look> =>
  withTransaction(pool, async (client) => {
    await client.query('lock table records.webhook_lanes in share row exclusive mode');
    await client.query(
      `${SEEN}
       update records.webhook_lanes l set sender_id = $1
       from (select subscription_id from lane where holder is null order by subscription_id
         limit (select greatest(0, share - (select count(*) from lane where holder = $1)) from share)) as free
       where l.subscription_id = free.subscription_id`,
      [senderId, now],
    );
    return look(client, senderId, now);
  });

/** Nothing of these lanes is under way here. */
export async function releaseLanes(
  db: Queryable,
  senderId: string,
  subscriptionIds: readonly string[],
): Promise<void> {
  await db.query(
    'update records.webhook_lanes set sender_id = null where sender_id = $1 and subscription_id = any($2)',
    [senderId, subscriptionIds],
  );
}

/** All that it holds is free. */
export async function leave(db: Queryable, senderId: string): Promise<void> {
  await db.query('delete from records.webhook_senders where sender_id = $1', [senderId]);
}

export async function forgetDeadSenders(db: Queryable, now: Date): Promise<void> {
  await db.query(
    `delete from records.webhook_senders where sender_id in (
       select sender_id from records.webhook_senders where alive_until <= $1 for update skip locked)`,
    [now],
  );
}
