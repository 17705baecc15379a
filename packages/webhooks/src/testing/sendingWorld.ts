/** Senders on a test database, with events as the emitter leaves them. */
import { type Client, migrate, withTransaction } from '@coffer/database';
import { type Clock, createSecretBox } from '@coffer/kernel';
import { portalMigrations } from '@coffer/portal';
import { createTestDatabase } from '@coffer/testing';
import { webhookMigrations } from '../migrations.ts';
import { createPoster } from '../sending/post.ts';
import { type Sender, startSender } from '../sending/sender.ts';
import { createTargets, type UnreadableSecret } from '../sending/targets.ts';
import { createSubscriptions, type Wanted } from '../subscriptions.ts';

const APP = 'app_1';
const TEMPLATE = {
  name: 'webhooks sending',
  prepare: (pool: Parameters<typeof migrate>[0]) => migrate(pool, [portalMigrations, webhookMigrations]),
};

export type SendingWorld = Awaited<ReturnType<typeof startSendingWorld>>;

export async function startSendingWorld() {
  const database = await createTestDatabase(TEMPLATE);
  const { pool } = database;
  const secretBox = createSecretBox(Buffer.alloc(32, 7));
  const reachOf = () => 'loopback' as const;
  const subscriptions = createSubscriptions({ secretBox, reachOf });
  const senders: Sender[] = [];
  const troubles: unknown[] = [];
  let now = new Date('2026-01-01T00:00:00.000Z');
  await pool.query(
    `insert into records.apps (app_id, name, scope_id, created_at) values ($1, 'Spec', 'scp_1', now())`,
    [APP],
  );
  await pool.query('insert into records.webhook_sequences (app_id, since_ordinal) values ($1, 0)', [APP]);
  const change = <Result>(work: (change: { client: Client; at: Date }) => Promise<Result>) =>
    withTransaction(pool, (client) => work({ client, at: now }));

  return {
    pool,
    subscriptions,
    change,
    now: () => now,
    advance(ms: number) {
      now = new Date(now.getTime() + ms);
    },
    subscribe: (wanted: Partial<Wanted> & Pick<Wanted, 'url'>) =>
      change((one) => subscriptions.create(one, APP, { events: null, environment: null, ...wanted })),
    /** So many more events of the app, for each of these subscriptions. */
    async emit(count: number, ...ids: readonly string[]) {
      await pool.query(
        `with base as (select coalesce(max(sequence), 0) as last from records.webhook_events where app_id = $1),
         event as (
           insert into records.webhook_events
             (app_id, sequence, event_id, type, environment, object_id, user_id, stream, revision, ordinal, created_at, body)
           select $1, last + n, 'evt_' || (last + n), 'user.created', 'test', 'usr_' || (last + n), null,
             'user-' || (last + n), 0, last + n, $4, '{"type":"user.created","sequence":' || (last + n) || '}'
           from base, generate_series(1, $2::integer) as n
           returning sequence
         ), numbered as (
           update records.webhook_sequences set last = last + $2 where app_id = $1
         )
         insert into records.webhook_deliveries (subscription_id, sequence, app_id, previous_sequence, next_attempt_at)
         select id, sequence, $1, nullif(sequence - 1, 0), $4 from event, unnest($3::text[]) as id`,
        [APP, count, ids, now],
      );
      for (const sender of senders) sender.wake();
    },
    startSender({
      beforeTargets = async () => {},
      clock = () => now,
      onTrouble = (error) => troubles.push(error),
      onUnreadable = ({ error }) => troubles.push(error),
      sweepMs = 10_000,
      ...options
    }: {
      readonly timeoutMs?: number;
      readonly sweepMs?: number;
      readonly onUnreadable?: (secret: UnreadableSecret) => void;
      readonly clock?: Clock;
      readonly beforeTargets?: (ids: readonly string[]) => Promise<void>;
      readonly onTrouble?: (error: unknown) => void;
    } = {}): Sender {
      const targets = createTargets({ pool, secretBox, reachOf, onUnreadable });
      const sender = startSender({
        pool,
        clock,
        poster: createPoster(options),
        targets: {
          async of(ids) {
            await beforeTargets([...ids]);
            return targets.of(ids);
          },
        },
        onTrouble,
        pollMs: 5,
        stopGraceMs: 100,
        sweepMs,
      });
      senders.push(sender);
      return sender;
    },
    async deliveries() {
      if (troubles.length > 0) throw troubles[0];
      const { rows } = await pool.query<{
        id: string;
        sequence: number;
        state: string;
        attempts: number;
        failures: number;
        dueInMs: number;
      }>(
        `select subscription_id as id, sequence::integer, state, attempts, failures,
           (extract(epoch from next_attempt_at - $1) * 1000)::integer as "dueInMs"
         from records.webhook_deliveries order by sequence, subscription_id`,
        [now],
      );
      return rows;
    },
    async stop() {
      await Promise.all(senders.map((sender) => sender.stop()));
      await database.drop();
      if (troubles.length > 0) throw troubles[0];
    },
  };
}
