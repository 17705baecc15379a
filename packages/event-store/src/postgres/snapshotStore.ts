/**
 * Snapshots in Postgres, one row per stream and decider version, in a schema that may be emptied at any time. Whoever
 * can write to the database can write there as well, and a trusted state is money: each row carries a MAC under a key
 * that the database does not hold, and a row that the service did not write is not used.
 */
import { createHmac, createSecretKey, hkdfSync, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import type { Migrations, Pool, Queryable } from '@coffer/database';
import type { KeptSnapshots, SnapshotPlace, SnapshotStore } from '../snapshots.ts';

/** The whole schema `cache`. */
export const snapshotMigrations: Migrations = {
  schema: 'cache',
  folder: join(import.meta.dirname, 'cacheMigrations'),
};

/** For another log: a snapshot is checked by its event's id alone, not by the events before it. */
export async function forgetSnapshots(db: Queryable): Promise<void> {
  await db.query('delete from cache.snapshots');
}

export interface SnapshotStoreOptions {
  /** The installation's secret: the same on every node, and not in the database. */
  readonly secret: Uint8Array;
  /** Called for each snapshot found that is not ours. */
  readonly onForged: (place: SnapshotPlace) => void;
}

interface Row {
  readonly revision: string;
  readonly event_id: string;
  readonly state: string;
  readonly mac: Buffer;
}

export function createPostgresSnapshotStore(
  pool: Pool,
  { secret, onForged }: SnapshotStoreOptions,
): SnapshotStore & KeptSnapshots {
  const key = createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', 'coffer snapshots', 32)));

  /** Covers the whole row; JSON has no line break, so a state cannot pass for part of its place. */
  const macOf = (
    { stream, deciderVersion }: SnapshotPlace,
    revision: string,
    eventId: string,
    state: string,
  ) =>
    createHmac('sha256', key)
      .update(`${JSON.stringify([stream, deciderVersion, revision, eventId.toLowerCase()])}\n`)
      .update(state)
      .digest();

  async function read(place: SnapshotPlace) {
    const { rows } = await pool.query<Row>(
      'select revision, event_id, state, mac from cache.snapshots where stream = $1 and decider_version = $2',
      [place.stream, place.deciderVersion],
    );
    const [row] = rows;
    if (!row) return undefined;
    const { revision, event_id: eventId, state, mac } = row;
    const expected = macOf(place, revision, eventId, state);
    const isAuthentic = mac.length === expected.length && timingSafeEqual(mac, expected);
    return { revision: Number(revision), eventId, text: state, isAuthentic };
  }

  return {
    read,
    async placesAmong(streams) {
      const { rows } = await pool.query<{ stream: string; decider_version: number }>(
        'select stream, decider_version from cache.snapshots where stream = any($1)',
        [streams],
      );
      return rows.map(({ stream, decider_version: deciderVersion }) => ({ stream, deciderVersion }));
    },
    async load(stream, deciderVersion) {
      const place = { stream, deciderVersion };
      const kept = await read(place);
      if (!kept) return undefined;
      if (!kept.isAuthentic) {
        onForged(place);
        return undefined;
      }
      const state: unknown = JSON.parse(kept.text);
      return { revision: kept.revision, eventId: kept.eventId, state };
    },
    async save(stream, deciderVersion, { revision, eventId, state }) {
      const text = JSON.stringify(state);
      // The last write wins, even over a higher revision: that may come from a log since rewritten.
      await pool.query(
        `insert into cache.snapshots (stream, decider_version, revision, event_id, state, mac)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (stream, decider_version) do update
           set revision = excluded.revision, event_id = excluded.event_id,
               state = excluded.state, mac = excluded.mac, taken_at = now()`,
        [
          stream,
          deciderVersion,
          revision,
          eventId,
          text,
          macOf({ stream, deciderVersion }, `${revision}`, eventId, text),
        ],
      );
    },
  };
}
