/** Snapshots in Postgres, one row a stream and decider version, in a schema that may be emptied at will. */
import { join } from 'node:path';
import { migrate, type Pool, type Queryable } from '@coffer/database';
import type { SnapshotStore } from '../snapshots.ts';

export async function migrateSnapshots(pool: Pool): Promise<void> {
  await migrate(pool, 'cache', join(import.meta.dirname, 'cacheMigrations'));
}

/** For another log: a snapshot is told by its event's id alone, not by what stands before it. */
export async function forgetSnapshots(db: Queryable): Promise<void> {
  await db.query('delete from cache.snapshots');
}

export function createPostgresSnapshotStore(pool: Pool): SnapshotStore {
  return {
    async load(stream, deciderVersion) {
      const { rows } = await pool.query<{ revision: string; event_id: string; state: string }>(
        'select revision, event_id, state from cache.snapshots where stream = $1 and decider_version = $2',
        [stream, deciderVersion],
      );
      const [row] = rows;
      if (!row) return undefined;
      const state: unknown = JSON.parse(row.state);
      return { revision: Number(row.revision), eventId: row.event_id, state };
    },
    async save(stream, deciderVersion, { revision, eventId, state }) {
      // The last one wins, also over one of a higher revision: that may be of a log since rewritten.
      await pool.query(
        `insert into cache.snapshots (stream, decider_version, revision, event_id, state)
         values ($1, $2, $3, $4, $5)
         on conflict (stream, decider_version) do update
           set revision = excluded.revision, event_id = excluded.event_id,
               state = excluded.state, taken_at = now()`,
        [stream, deciderVersion, revision, eventId, JSON.stringify(state)],
      );
    },
  };
}
