/** Subscriptions: endpoints of an app, with a secret each that is shown once. Source: spec, Webhook subscription. */
import { type Client, given, type Queryable, rawSql, rowsOf, sql } from '@coffer/database';
import { type Environment, newId, type SecretBox } from '@coffer/kernel';
import type { EventType } from './domain/eventTypes.ts';
import { reject } from './errors.ts';
import { failPending } from './sending/deliveries.ts';
import { endpointUrl } from './sending/endpointUrl.ts';
import { newSecret } from './sending/signature.ts';
import { type ReachOf, secretPlace } from './sending/targets.ts';

export interface Subscription {
  readonly id: string;
  readonly url: string;
  /** Null: all of them. */
  readonly events: readonly EventType[] | null;
  readonly environment: Environment | null;
  readonly state: 'enabled' | 'disabled';
  readonly disabledReason: 'requested' | 'failing' | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly failingSince: Date | null;
}

export type Wanted = Pick<Subscription, 'url' | 'events' | 'environment'>;

interface Rotated {
  readonly secret: string;
  readonly previousValidUntil: Date;
  readonly replayed: boolean;
}

/** In one transaction, at one instant. */
interface Change {
  readonly client: Client;
  readonly at: Date;
}

export interface SubscriptionsOptions {
  readonly secretBox: SecretBox;
  readonly reachOf: ReachOf;
}

/** More endpoints than anybody needs; each gets every event of its app. */
const MOST_OF_AN_APP = 100;
/** How long the former secret signs as well. */
const OVERLAP_MS = 24 * 60 * 60_000;

const COLUMNS = `subscription_id as id, url, events, environment, state, disabled_reason as "disabledReason",
  created_at as "createdAt", updated_at as "updatedAt", failing_since as "failingSince"`;

/** Oldest first. */
export const listSubscriptions = (db: Queryable, appId: string): Promise<readonly Subscription[]> =>
  rowsOf<Subscription>(db, subscriptionsWhere({ app_id: appId }));

/** Throws `webhooks/not_found`. */
export async function subscriptionOf(db: Queryable, appId: string, id: string): Promise<Subscription> {
  const [found] = await rowsOf<Subscription>(db, subscriptionsWhere({ app_id: appId, subscription_id: id }));
  if (!found) throw reject('webhooks/not_found');
  return found;
}

const subscriptionsWhere = (columns: Readonly<Record<string, string>>) =>
  sql('webhook_subscriptions')
    .withSchema('records')
    .select(rawSql(COLUMNS))
    .where(given(columns))
    .whereNot('state', 'deleted')
    .orderBy(['created_at', 'subscription_id']);

export type Subscriptions = ReturnType<typeof createSubscriptions>;

export function createSubscriptions({ secretBox, reachOf }: SubscriptionsOptions) {
  return { create, update, rotate, remove };

  /** Each call creates another. Throws `webhooks/url_not_allowed`, `webhooks/too_many_subscriptions`. */
  async function create({ client, at }: Change, appId: string, wanted: Wanted) {
    requireAllowed(wanted);
    // Two at once are counted one after the other. Events refer to the app, so none is numbered meanwhile.
    await client.query('select from records.apps where app_id = $1 for update', [appId]);
    if ((await listSubscriptions(client, appId)).length >= MOST_OF_AN_APP) {
      throw reject('webhooks/too_many_subscriptions', { limit: MOST_OF_AN_APP });
    }
    const id = newId('whk');
    const secret = newSecret();
    await client.query(
      `insert into records.webhook_subscriptions
         (subscription_id, app_id, url, events, environment, state, secret, created_at, updated_at, since_sequence)
       values ($1, $2, $3, $4, $5, 'enabled', $6, $7, $7,
         coalesce((select last from records.webhook_sequences where app_id = $2), 0))`,
      [id, appId, wanted.url, wanted.events, wanted.environment, secretBox.seal(secret, secretPlace(id)), at],
    );
    await client.query('insert into records.webhook_lanes (subscription_id, app_id) values ($1, $2)', [
      id,
      appId,
    ]);
    return { subscription: await subscriptionOf(client, appId, id), secret };
  }

  /** Throws `webhooks/not_found`, `webhooks/url_not_allowed`. */
  async function update(
    { client, at }: Change,
    appId: string,
    id: string,
    changes: { readonly [Field in keyof Wanted]?: Wanted[Field] | undefined } & {
      readonly disabled?: boolean | undefined;
    },
  ): Promise<Subscription> {
    const before = await lock(client, appId, id);
    const after = {
      url: changes.url ?? before.url,
      events: changes.events === undefined ? before.events : changes.events,
      environment: changes.environment === undefined ? before.environment : changes.environment,
    };
    requireAllowed(after);
    const isDisabled = changes.disabled ?? before.state === 'disabled';
    const reason = isDisabled ? (before.disabledReason ?? 'requested') : null;
    await client.query(
      `update records.webhook_subscriptions set url = $2, events = $3, environment = $4, state = $5,
         disabled_reason = $6, updated_at = $7, epoch = epoch + 1,
         failing_since = case when $5 = 'enabled' and state = 'disabled' then null else failing_since end
       where subscription_id = $1`,
      [id, after.url, after.events, after.environment, isDisabled ? 'disabled' : 'enabled', reason, at],
    );
    return subscriptionOf(client, appId, id);
  }

  /**
   * The former secret signs for a day more, beside the new one; the one before that no longer. Meanwhile the same key gets
   * the same secret. Throws `webhooks/not_found`.
   */
  async function rotate({ client, at }: Change, appId: string, id: string, key?: string): Promise<Rotated> {
    await lock(client, appId, id);
    const earlier = key === undefined ? undefined : await rotatedBy({ client, at }, id, key);
    if (earlier) return { ...earlier, replayed: true };
    const secret = newSecret();
    const previousValidUntil = new Date(at.getTime() + OVERLAP_MS);
    await client.query(
      `update records.webhook_subscriptions set previous_secret = secret, previous_secret_until = $2, secret = $3,
         updated_at = $4, epoch = epoch + 1, rotation_key = $5
       where subscription_id = $1`,
      [id, previousValidUntil, secretBox.seal(secret, secretPlace(id)), at, key ?? null],
    );
    return { secret, previousValidUntil, replayed: false };
  }

  async function rotatedBy({ client, at }: Change, id: string, key: string) {
    const { rows } = await client.query<{ sealed: unknown; previousValidUntil: Date }>(
      `select secret as sealed, previous_secret_until as "previousValidUntil" from records.webhook_subscriptions
        where subscription_id = $1 and rotation_key = $2 and previous_secret_until > $3`,
      [id, key, at],
    );
    return (
      rows[0] && {
        secret: secretBox.open(rows[0].sealed, secretPlace(id)),
        previousValidUntil: rows[0].previousValidUntil,
      }
    );
  }

  /** Nothing is sent to it from now on; what is pending fails, the rest of it in the background. Throws `webhooks/not_found`. */
  async function remove({ client, at }: Change, appId: string, id: string): Promise<void> {
    await lock(client, appId, id);
    await client.query(
      `update records.webhook_subscriptions set state = 'deleted', disabled_reason = null, updated_at = $2,
         epoch = epoch + 1
       where subscription_id = $1`,
      [id, at],
    );
    await failPending(client, id);
  }

  function requireAllowed({ url, environment }: Pick<Wanted, 'url' | 'environment'>): void {
    if (!endpointUrl(url, reachOf(environment))) throw reject('webhooks/url_not_allowed');
  }
}

/** Of two changes at once, the second sees the first. Throws `webhooks/not_found`. */
async function lock(client: Client, appId: string, id: string): Promise<Subscription> {
  await client.query(
    'select from records.webhook_subscriptions where app_id = $1 and subscription_id = $2 for update',
    [appId, id],
  );
  return subscriptionOf(client, appId, id);
}
