/** The rows of the refresh token families: each step of a family is one statement. */
import { answeredWithin, type Queryable, SHARED_ANSWER_WITHIN_MS } from '@coffer/database';
import type { AppPlace, Environment } from '@coffer/kernel';
import type { AuthMethod } from '../types.ts';
import { FAMILY_LIFETIME_MS, REFRESH_GRACE_MS } from './lifetimes.ts';
import { assertRotated, type EndReason, type Session } from './refreshFamily.ts';

interface SessionRow {
  readonly session_id: string;
  readonly app_id: string;
  readonly scope_id: string;
  readonly environment: Environment;
  readonly user_id: string;
  readonly auth_method: AuthMethod;
  readonly signed_in_at: Date;
  readonly generation: number;
  readonly first_used_at: readonly Date[];
  readonly first_uses: readonly number[];
  readonly ended_because: EndReason | null;
}

const COLUMNS = `session_id, app_id, scope_id, environment, user_id, auth_method, signed_in_at, generation,
  first_used_at, first_uses, ended_because`;

const sessionOf = (row: SessionRow): Session => ({
  sessionId: row.session_id,
  place: { appId: row.app_id, scopeId: row.scope_id, environment: row.environment },
  userId: row.user_id,
  authMethod: row.auth_method,
  signedInAt: row.signed_in_at,
  generation: row.generation,
  firstUses: row.first_used_at.map((at, index) => ({ at, count: row.first_uses[index] ?? 1 })),
  endedBecause: row.ended_because ?? undefined,
});

export async function insertSession(db: Queryable, session: Session): Promise<void> {
  const { sessionId, place, userId, authMethod, signedInAt } = session;
  await db.query(
    `insert into records.auth_sessions
       (session_id, app_id, scope_id, environment, user_id, auth_method, signed_in_at)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [sessionId, place.appId, place.scopeId, place.environment, userId, authMethod, signedInAt],
  );
}

export async function findSession(db: Queryable, sessionId: string): Promise<Session | undefined> {
  const { rows } = await db.query<SessionRow>({
    name: 'auth_session',
    text: `select ${COLUMNS} from records.auth_sessions where session_id = $1`,
    values: [sessionId],
  });
  return rows[0] && sessionOf(rows[0]);
}

/** One per id, in the same order. */
export async function findSessions(
  db: Queryable,
  sessionIds: readonly string[],
): Promise<readonly (Session | undefined)[]> {
  const asked = answeredWithin(SHARED_ANSWER_WITHIN_MS, {
    name: 'auth_sessions',
    text: `select ${COLUMNS} from records.auth_sessions where session_id = any($1)`,
    values: [sessionIds],
  });
  const { rows } = await db.query<SessionRow>(asked);
  const found = new Map(rows.map((row) => [row.session_id, sessionOf(row)]));
  return sessionIds.map((sessionId) => found.get(sessionId));
}

/**
 * Gives the family its next generation if the one presented is its newest. A single statement, so that only one of
 * many callers rotates, and a crash leaves the family as before or after. Undefined if it is not the newest.
 */
export async function rotateFamily(
  db: Queryable,
  sessionId: string,
  generation: number,
  now: Date,
): Promise<Session | undefined> {
  // Times only increase along the list, whatever the nodes' clocks say; so its end is what is kept.
  const { rows } = await db.query<SessionRow>({
    name: 'auth_rotate_family',
    text: `update records.auth_sessions set
             generation = generation + 1,
             (first_used_at, first_uses) = (
               select array_agg(at order by at), array_agg(uses order by at)
                 from (select max(at) as at, sum(uses)::integer as uses,
                              lead(max(at)) over (order by max(at)) as next_at
                         from (select at, coalesce(uses, 1) as uses
                                 from unnest(first_used_at, first_uses) as kept (at, uses) where at is not null
                               union all
                               select greatest($3, signed_in_at, first_used_at[cardinality(first_used_at)]), 1) as use
                        group by date_trunc('second', at)) as second
                where next_at is null or next_at >= $3 - interval '${REFRESH_GRACE_MS} milliseconds')
           where session_id = $1 and generation = $2 and ended_at is null
           returning ${COLUMNS}`,
    values: [sessionId, generation, now],
  });
  const rotated = rows[0] && sessionOf(rows[0]);
  if (rotated) assertRotated(rotated, generation);
  return rotated;
}

/** Ending an ended session changes nothing and keeps the first reason. */
export async function endSession(
  db: Queryable,
  sessionId: string,
  reason: EndReason,
  now: Date,
): Promise<void> {
  await db.query(
    `update records.auth_sessions set ended_at = $2, ended_because = $3
      where session_id = $1 and ended_at is null`,
    [sessionId, now, reason],
  );
}

/** The ids of the sessions that this call ended. */
export async function endSessionsOf(
  db: Queryable,
  { scopeId, environment }: Pick<AppPlace, 'scopeId' | 'environment'>,
  userId: string,
  now: Date,
): Promise<readonly string[]> {
  const { rows } = await db.query<{ session_id: string }>(
    `update records.auth_sessions set ended_at = $4, ended_because = 'user'
      where scope_id = $1 and environment = $2 and user_id = $3 and ended_at is null
      returning session_id`,
    [scopeId, environment, userId, now],
  );
  return rows.map((row) => row.session_id);
}

/** Deletes some of the sessions that can no longer have any effect. Returns how many. */
export async function deleteOldSessions(db: Queryable, now: Date, limit: number): Promise<number> {
  const { rowCount } = await db.query(
    `delete from records.auth_sessions where session_id in (
       select session_id from records.auth_sessions where signed_in_at < $1 order by signed_in_at limit $2)`,
    [new Date(now.getTime() - FAMILY_LIFETIME_MS), limit],
  );
  return rowCount ?? 0;
}
