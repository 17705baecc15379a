/** Apps: a name, and the scope whose users and wallets they share. */
import type { Queryable } from '@coffer/database';
import type { LogPlace } from '@coffer/event-store';
import { idFromParts, isId, newId } from '@coffer/kernel';
import type { AdminChange } from './adminActions.ts';
import { reject } from './errors.ts';

export interface App {
  readonly appId: string;
  readonly name: string;
  readonly scopeId: string;
  readonly createdAt: Date;
}

const AS_APP = 'app_id as "appId", name, scope_id as "scopeId", created_at as "createdAt"';

export interface CreateApp {
  readonly name: string;
  /** The scope of an existing app; a scope of its own when undefined. */
  readonly scopeId?: string | undefined;
  /** The end of the log, if it is to join a scope: what comes after it is for the app as well. */
  readonly joinedAt?: LogPlace | undefined;
  /** The same key with the same content returns the same app. Without a key, each call creates an app. */
  readonly idempotencyKey?: string | undefined;
}

/** Throws `portal/scope_not_found`, `portal/idempotency_conflict`. */
export async function createApp(
  change: AdminChange,
  { name, scopeId, joinedAt, idempotencyKey }: CreateApp,
): Promise<{ readonly app: App; readonly replayed: boolean }> {
  const appId = idempotencyKey === undefined ? newId('app') : idFromParts('app', 'portal', idempotencyKey);
  if (scopeId !== undefined && !(await scopeExists(change.client, scopeId))) {
    throw reject('portal/scope_not_found', { scope: scopeId });
  }
  const wanted: App = {
    appId,
    name,
    scopeId: scopeId ?? idFromParts('scp', appId),
    createdAt: change.at,
  };
  if (await insertApp(change.client, wanted, joinedAt)) {
    await change.record('apps.create', appId, { name, scopeId: wanted.scopeId });
    return { app: wanted, replayed: false };
  }

  const earlier = await findApp(change.client, appId);
  const field = earlier?.name === name ? 'scope' : 'name';
  if (earlier?.name === name && earlier.scopeId === wanted.scopeId) return { app: earlier, replayed: true };
  throw reject('portal/idempotency_conflict', { key: idempotencyKey, field });
}

/** False if an app with this id already exists. */
export async function insertApp(queryable: Queryable, app: App, joinedAt?: LogPlace): Promise<boolean> {
  const { rowCount } = await queryable.query(
    `insert into records.apps (app_id, name, scope_id, created_at, joined_position, joined_event_id)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (app_id) do nothing`,
    [app.appId, app.name, app.scopeId, app.createdAt, joinedAt?.position, joinedAt?.eventId],
  );
  return rowCount === 1;
}

export async function findApp(queryable: Queryable, appId: string): Promise<App | undefined> {
  if (!isId('app', appId)) return undefined;
  const { rows } = await queryable.query<App>(`select ${AS_APP} from records.apps where app_id = $1`, [
    appId,
  ]);
  return rows[0];
}

/** Oldest first. */
export async function listApps(queryable: Queryable): Promise<readonly App[]> {
  const { rows } = await queryable.query<App>(
    `select ${AS_APP} from records.apps order by created_at, app_id`,
  );
  return rows;
}

async function scopeExists(queryable: Queryable, scopeId: string): Promise<boolean> {
  const { rowCount } = await queryable.query('select 1 from records.apps where scope_id = $1 limit 1', [
    scopeId,
  ]);
  return rowCount === 1;
}
