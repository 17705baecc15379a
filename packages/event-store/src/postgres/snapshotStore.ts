/**
 * Snapshots in Postgres, one row per stream and decider version, in a schema that may be emptied at any time. Whoever
 * can write to the database can write there as well, and a trusted state is money: each row carries a MAC under a key
 * that the database does not hold, and a row that the service did not write is not used.
 */
import { createHmac, createSecretKey, hkdfSync, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import type { Migrations, Pool, Queryable } from '@coffer/database';
import {
  type KeptSnapshots,
  packState,
  type Snapshot,
  type SnapshotPlace,
  type SnapshotStore,
  unpackState,
} from '../snapshots.ts';
import { inTurns } from '../turns.ts';
import { byteaArray, int4Array, int8Array, textArray, uuidArray } from './binaryArrays.ts';

/** The whole schema `cache`. */
export const snapshotMigrations: Migrations = {
  schema: 'cache',
  folder: join(import.meta.dirname, 'cacheMigrations'),
};

/** Streams that nobody has used for a month, and rows of former versions, would fill the table. */
export async function forgetOldSnapshots(db: Queryable): Promise<void> {
  await db.query(`delete from cache.snapshots where taken_at < now() - interval '30 days'`);
}

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

  /** Covers the whole row; the place has no line break, so a state cannot pass for part of it. */
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

  const keptIn = (place: SnapshotPlace, { revision, event_id: eventId, state, mac }: Row) => {
    const expected = macOf(place, revision, eventId, state);
    const isAuthentic = mac.length === expected.length && timingSafeEqual(mac, expected);
    return { revision: Number(revision), eventId, text: state, isAuthentic };
  };

  return {
    async read(place) {
      const { rows } = await pool.query<Row>(
        'select revision, event_id, state, mac from cache.snapshots where stream = $1 and decider_version = $2',
        [place.stream, place.deciderVersion],
      );
      return rows[0] && keptIn(place, rows[0]);
    },
    async placesAmong(streams) {
      const { rows } = await pool.query<{ stream: string; decider_version: number }>(
        'select stream, decider_version from cache.snapshots where stream = any($1)',
        [streams],
      );
      return rows.map(({ stream, decider_version: deciderVersion }) => ({ stream, deciderVersion }));
    },
    async load(places) {
      // Planned each time: a plan made while the table was small would scan it.
      const { rows } = await pool.query<Row & { readonly number: number }>(LOAD, [
        textArray(places.map(({ stream }) => stream)),
        int4Array(places.map(({ deciderVersion }) => deciderVersion)),
      ]);
      const found = new Map(rows.map((row) => [row.number, row]));
      const snapshots: (Snapshot | undefined)[] = [];
      const endTurn = inTurns();
      for (const [index, place] of places.entries()) {
        const row = found.get(index + 1);
        const kept = row && keptIn(place, row);
        if (kept && !kept.isAuthentic) onForged(place);
        snapshots.push(
          kept?.isAuthentic
            ? { revision: kept.revision, eventId: kept.eventId, state: unpackState(kept.text) }
            : undefined,
        );
        await endTurn();
      }
      return snapshots;
    },
    async save(snapshots) {
      const texts: string[] = [];
      const macs: Buffer[] = [];
      const endTurn = inTurns();
      // In one order in every process, so that two of them do not wait for each other.
      const sorted = snapshots.toSorted((one, other) => (one.stream < other.stream ? -1 : 1));
      for (const { revision, eventId, state, ...place } of sorted) {
        const text = packState(state);
        texts.push(text);
        macs.push(macOf(place, `${revision}`, eventId, text));
        await endTurn();
      }
      await pool.query({
        name: 'coffer-snapshots-save',
        text: SAVE,
        values: [
          textArray(sorted.map(({ stream }) => stream)),
          int4Array(sorted.map(({ deciderVersion }) => deciderVersion)),
          int8Array(sorted.map(({ revision }) => revision)),
          uuidArray(sorted.map(({ eventId }) => eventId)),
          textArray(texts),
          byteaArray(macs),
        ],
      });
    },
    async remove(streams) {
      await pool.query('delete from cache.snapshots where stream = any($1)', [streams]);
    },
  };
}

const LOAD = `
  select wanted.number::int as number, s.revision, s.event_id, s.state, s.mac
  from unnest($1::text[], $2::int[]) with ordinality as wanted(stream, version, number)
  join cache.snapshots s on s.stream = wanted.stream and s.decider_version = wanted.version`;

/**
 * The last write wins, even over a higher revision: that may come from a log since rewritten. A snapshot lost with the
 * server costs a fold, so nothing waits for the disk.
 */
const SAVE = `
  with unhurried as (select set_config('synchronous_commit', 'off', true))
  insert into cache.snapshots (stream, decider_version, revision, event_id, state, mac)
  select row.* from unhurried, unnest($1::text[], $2::int[], $3::bigint[], $4::uuid[], $5::text[], $6::bytea[]) as row
  on conflict (stream, decider_version) do update
    set revision = excluded.revision, event_id = excluded.event_id,
        state = excluded.state, mac = excluded.mac, taken_at = now()`;
