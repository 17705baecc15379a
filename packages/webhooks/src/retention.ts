/**
 * Forgets old events with their deliveries and attempts, in small parts. Numbers stay taken: a replay of the log gives no
 * second one to a fact whose event is gone. What is still to be delivered, or passed on, is kept, with all that came after it.
 */
import type { Pool, Queryable } from '@coffer/database';
import { withTransaction } from '@coffer/database';
import type { Clock } from '@coffer/kernel';

const DAY_MS = 24 * 60 * 60_000;
const PRUNED_AT_ONCE = 500;
const LOOK_EVERY_MS = 60_000;

export interface RetentionOptions {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly days: number;
  /** Whether events are passed on elsewhere as well: then those that have not been yet are kept, for however long. */
  readonly isPassedOn: boolean;
  readonly onTrouble: (error: unknown) => void;
  /** Default: a minute. */
  readonly lookEveryMs?: number;
}

export interface Retention {
  /** Finishes the part at hand. */
  readonly stop: () => Promise<void>;
}

/** Any number of processes may do so: an app's row is locked for each part. */
export function startRetention({
  pool,
  clock,
  days,
  isPassedOn,
  onTrouble,
  lookEveryMs = LOOK_EVERY_MS,
}: RetentionOptions): Retention {
  let isStopping = false;
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();

  async function pruneAll(): Promise<void> {
    const until = new Date(clock().getTime() - days * DAY_MS);
    const { rows } = await pool.query<{ appId: string }>(
      'select app_id as "appId" from records.webhook_sequences order by app_id',
    );
    for (const { appId } of rows) {
      while (!isStopping && (await pruneSome(pool, appId, until, isPassedOn)) === PRUNED_AT_ONCE);
    }
  }

  async function run(): Promise<void> {
    while (!isStopping) {
      await pruneAll().catch(onTrouble);
      let timer: NodeJS.Timeout | undefined;
      await Promise.race([
        stopped,
        new Promise<void>((resolve) => {
          timer = setTimeout(resolve, lookEveryMs);
        }),
      ]);
      clearTimeout(timer);
    }
  }

  const running = run();
  return {
    stop() {
      isStopping = true;
      stop();
      return running;
    },
  };
}

/** The oldest events of the app from before the time, as far as nothing is to be done with them yet. Returns how many. */
export const pruneSome = (pool: Pool, appId: string, until: Date, isPassedOn = false): Promise<number> =>
  withTransaction(pool, async (client) => {
    const part = await oldestOf(client, appId, until, isPassedOn);
    const last = part.at(-1);
    if (!last) return 0;
    const ids = [appId, last.sequence];
    await client.query(
      `delete from records.webhook_attempts a using records.webhook_lanes l
        where l.app_id = $1 and a.subscription_id = l.subscription_id and a.sequence <= $2`,
      ids,
    );
    await client.query(
      `delete from records.webhook_deliveries d using records.webhook_lanes l
        where l.app_id = $1 and d.subscription_id = l.subscription_id and d.sequence <= $2`,
      ids,
    );
    await client.query('delete from records.webhook_events where app_id = $1 and sequence <= $2', ids);
    await client.query(
      `update records.webhook_sequences set pruned_sequence = $2, pruned_ordinal = greatest(pruned_ordinal, $3)
        where app_id = $1`,
      [...ids, Math.max(...part.map(({ ordinal }) => ordinal))],
    );
    return part.length;
  });

async function oldestOf(
  db: Queryable,
  appId: string,
  until: Date,
  isPassedOn: boolean,
): Promise<readonly { readonly sequence: number; readonly ordinal: number }[]> {
  // The emitter locks it as well: an app's events do not change meanwhile.
  await db.query('select from records.webhook_sequences where app_id = $1 for update', [appId]);
  const { rows } = await db.query<{ sequence: number; ordinal: number; isKept: boolean }>(
    `with part as materialized (
       select sequence, ordinal, created_at from records.webhook_events
        where app_id = $1 order by sequence limit ${PRUNED_AT_ONCE}
     ), pending as materialized (
       select d.sequence from records.webhook_lanes l join records.webhook_deliveries d using (subscription_id)
        where l.app_id = $1 and d.state = 'pending'
          and d.sequence between (select min(sequence) from part) and (select max(sequence) from part)
     )
     select sequence::float8 as sequence, coalesce(ordinal, 0)::float8 as ordinal,
            created_at >= $2 or ordinal is null or sequence in (select sequence from pending)
              or ($3 and sequence > coalesce((select p.sequence from records.webhook_passed_on p where p.app_id = $1), 0))
              as "isKept"
       from part order by sequence`,
    [appId, until, isPassedOn],
  );
  const kept = rows.findIndex(({ isKept }) => isKept);
  return kept === -1 ? rows : rows.slice(0, kept);
}
