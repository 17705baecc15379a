/**
 * Snapshots in Postgres, one row per stream and decider version, in a schema that may be emptied at any time. Whoever
 * can write to the database can write there as well, and a trusted state is money: each row carries a MAC under a key
 * that the database does not hold, and a row that the service did not write is not used.
 */
import { createHmac, createSecretKey, hkdfSync, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import {
  byteaArray,
  int4Array,
  int8Array,
  type Migrations,
  type Pool,
  type Queryable,
  textArray,
  UUID_BYTES,
  uuidArray,
  uuidText,
} from '@coffer/database';
import {
  type KeptSnapshot,
  type KeptSnapshots,
  type PackedState,
  packState,
  type Snapshot,
  type SnapshotPlace,
  type SnapshotStore,
  unpackState,
} from '../snapshots.ts';
import { inTurns } from '../turns.ts';
import {
  arrayOfIntegers,
  arrayOfTexts,
  copyRows,
  createSpareRooms,
  INT8_BYTES,
  integerAt,
  LEAST_ROOM_BYTES,
  lengthOf,
  readRows,
  roomFor,
  valueAt,
} from './binaryCopy.ts';

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
  /** A fold is worth no longer wait, and others wait for the answer to the question before theirs. */
  readonly loadTimeoutMs?: number;
}

/** As it was found. */
interface Row {
  /** Counted from 1 in the question. */
  readonly number: number;
  readonly revision: number;
  readonly eventId: string;
  readonly mac: Buffer;
  readonly state: PackedState;
}

export function createPostgresSnapshotStore(
  pool: Pool,
  { secret, onForged, loadTimeoutMs = 3_000 }: SnapshotStoreOptions,
): SnapshotStore & KeptSnapshots {
  const key = createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', 'coffer snapshots', 32)));
  const spareRooms = createSpareRooms();

  /** Covers the whole row. With the length of the facts, so that they end nowhere else. */
  const macOf = (
    { stream, deciderVersion }: SnapshotPlace,
    { revision, eventId, state: { facts, bytes } }: Pick<Row, 'revision' | 'eventId' | 'state'>,
  ) =>
    createHmac('sha256', key)
      .update(
        `${JSON.stringify([stream, deciderVersion, revision, eventId.toLowerCase(), facts.length])}\n${facts}`,
      )
      .update(bytes)
      .digest();

  const keptIn = (place: SnapshotPlace, row: Row): KeptSnapshot => {
    const { revision, eventId, state, mac } = row;
    const expected = macOf(place, row);
    const isAuthentic = mac.length === expected.length && timingSafeEqual(mac, expected);
    return { revision, eventId, state, isAuthentic };
  };

  /** By index among the places. */
  const rowsOf = async (
    places: readonly SnapshotPlace[],
    within: { readonly room: Buffer; readonly timeoutMs: number },
  ): Promise<{ readonly rows: ReadonlyMap<number, Row>; readonly room: Buffer }> => {
    const { page, room } = await copyRows(pool, loadQuery(places), within);
    const rows = new Map<number, Row>();
    readRows(page, LOADED_COLUMNS, (view, at) => {
      const { row, end } = rowAt(page, view, at);
      rows.set(row.number - 1, row);
      return end;
    });
    return { rows, room };
  };

  return {
    async read(places) {
      const { rows } = await rowsOf(places, { room: roomFor(LEAST_ROOM_BYTES), timeoutMs: READ_TIMEOUT_MS });
      return places.map((place, index) => {
        const row = rows.get(index);
        return row && keptIn(place, row);
      });
    },
    async placesAmong(streams) {
      const { rows } = await pool.query<{ stream: string; decider_version: number }>(
        'select stream, decider_version from cache.snapshots where stream = any($1)',
        [streams],
      );
      return rows.map(({ stream, decider_version: deciderVersion }) => ({ stream, deciderVersion }));
    },
    async load<Place extends SnapshotPlace, Restored>(
      places: readonly Place[],
      restore: (place: Place, snapshot: Snapshot) => Restored,
    ) {
      const { rows, room } = await rowsOf(places, { room: spareRooms.take(), timeoutMs: loadTimeoutMs });
      const restored: (Restored | undefined)[] = [];
      const endTurn = inTurns();
      for (const [index, place] of places.entries()) {
        const row = rows.get(index);
        const kept = row && keptIn(place, row);
        if (kept && !kept.isAuthentic) onForged(place);
        restored.push(kept?.isAuthentic ? restore(place, snapshotIn(kept)) : undefined);
        await endTurn();
      }
      spareRooms.giveBack(room);
      return restored;
    },
    async save(snapshots) {
      const states: PackedState[] = [];
      const macs: Buffer[] = [];
      const endTurn = inTurns();
      // In one order in every process, so that two of them do not wait for each other.
      const sorted = snapshots.toSorted((one, other) => (one.stream < other.stream ? -1 : 1));
      for (const { revision, eventId, state: unpacked, ...place } of sorted) {
        const state = packState(unpacked);
        states.push(state);
        macs.push(macOf(place, { revision, eventId, state }));
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
          textArray(states.map(({ facts }) => facts)),
          byteaArray(states.map(({ bytes }) => bytes)),
          byteaArray(macs),
        ],
      });
    },
    async remove(streams) {
      await pool.query('delete from cache.snapshots where stream = any($1)', [streams]);
    },
  };
}

/** For a verification, which cannot do without. */
const READ_TIMEOUT_MS = 15_000;
const LOADED_COLUMNS = 6;

const snapshotIn = ({ revision, eventId, state }: KeptSnapshot): Snapshot => ({
  revision,
  eventId,
  state: unpackState(state),
});

/** Planned each time: a plan made while the table was small would scan it. */
function loadQuery(places: readonly SnapshotPlace[]): string {
  const streams = arrayOfTexts(places.map(({ stream }) => stream));
  const versions = arrayOfIntegers(places.map(({ deciderVersion }) => deciderVersion));
  return `
    select wanted.number, s.revision, s.event_id, s.mac, s.state, s.bytes
    from unnest(${streams}, ${versions}) with ordinality as wanted(stream, version, number)
    join cache.snapshots s on s.stream = wanted.stream and s.decider_version = wanted.version`;
}

function rowAt(page: Buffer, view: DataView, at: number): { readonly row: Row; readonly end: number } {
  const number = valueAt(view, at, INT8_BYTES);
  const revision = valueAt(view, number + INT8_BYTES, INT8_BYTES);
  const eventId = valueAt(view, revision + INT8_BYTES, UUID_BYTES);
  const mac = valueAt(view, eventId + UUID_BYTES);
  const facts = valueAt(view, mac + lengthOf(view, mac));
  const bytes = valueAt(view, facts + lengthOf(view, facts));
  const end = bytes + lengthOf(view, bytes);
  const row = {
    number: integerAt(view, number),
    revision: integerAt(view, revision),
    eventId: uuidText(page, eventId),
    mac: page.subarray(mac, mac + lengthOf(view, mac)),
    state: {
      facts: page.toString('utf8', facts, facts + lengthOf(view, facts)),
      bytes: page.subarray(bytes, end),
    },
  };
  return { row, end };
}

/**
 * The last write wins, even over a higher revision: that may come from a log since rewritten. A snapshot lost with the
 * server costs a fold, so nothing waits for the disk.
 */
const SAVE = `
  with unhurried as (select set_config('synchronous_commit', 'off', true))
  insert into cache.snapshots (stream, decider_version, revision, event_id, state, bytes, mac)
  select row.* from unhurried,
    unnest($1::text[], $2::int[], $3::bigint[], $4::uuid[], $5::text[], $6::bytea[], $7::bytea[]) as row
  on conflict (stream, decider_version) do update
    set revision = excluded.revision, event_id = excluded.event_id,
        state = excluded.state, bytes = excluded.bytes, mac = excluded.mac, taken_at = now()`;
