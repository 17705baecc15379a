/** `records.chain_blocks`: written only by the chain's consumer, a page at a time. */
import { int8Array, type Queryable, textArray, UUID_BYTES } from '@coffer/database';
import type { Position } from '@coffer/event-store';
import { type Block, type ChainHead, MAX_BLOCK_EVENTS } from './blocks.ts';
import { HASH_BYTES, idBytes, idText, type Ordinal } from './chain.ts';
import { type ChainEntry, type EntryColumns, entryIn, hashIn, latestIn } from './entryColumns.ts';

const HEAD_NAMES = 'last_ordinal, hash_after, last_position, event_ids, recorded_until_ms';

/** The end of the chain; undefined while it is empty. */
export async function readChainHead(db: Queryable): Promise<ChainHead | undefined> {
  const { rows } = await db.query<HeadRow>(
    `select ${HEAD_NAMES} from records.chain_blocks order by last_ordinal desc limit 1`,
  );
  return rows[0] && headIn(rows[0]);
}

/**
 * For a log restored to an older state: the next projector chains it again, to the same hashes for every
 * event that is left. The old blocks are set aside, where nothing reads them.
 */
export async function setBlocksAside(db: Queryable): Promise<void> {
  await db.query(
    `insert into records.chain_blocks_set_aside select *, clock_timestamp() from records.chain_blocks`,
  );
  await db.query('truncate records.chain_blocks');
  // The rebuilt blocks take their times from the log.
  await db.query('truncate records.chain_carried');
}

/** The ordinal up to which the log was carried from another store; 0 if it never was. */
export async function readCarriedUntil(db: Queryable): Promise<Ordinal> {
  const { rows } = await db.query<{ readonly until_ordinal: string }>(
    'select until_ordinal from records.chain_carried',
  );
  return Number(rows[0]?.until_ordinal ?? 0);
}

const COLUMNS = [
  ['first_ordinal', 'bigint'],
  ['last_ordinal', 'bigint'],
  ['hash_before', 'bytea'],
  ['hash_after', 'bytea'],
  ['last_position', 'text'],
  ['recorded_until_ms', 'bigint'],
  ['event_ids', 'bytea'],
  ['hashes', 'bytea'],
  ['streams', 'text[]'],
  ['revisions', 'bigint[]'],
  ['recorded_ms', 'bigint[]'],
] as const;
const NAMES = COLUMNS.map(([name]) => name).join(', ');

const CHAIN_TABLE = 'records.chain_blocks';
/** Belongs to one connection and disappears with it. */
const CARRIED_TABLE = 'pg_temp.carried_blocks';

/**
 * A table separate from the chain, private to the caller's connection, for the blocks that will replace it.
 */
export async function createCarriedBlocks(db: Queryable): Promise<void> {
  await db.query(`drop table if exists ${CARRIED_TABLE}`);
  await db.query(`create temporary table carried_blocks (like ${CHAIN_TABLE})`);
}

export const insertCarriedBlock = (db: Queryable, block: Block): Promise<void> =>
  insertInto(CARRIED_TABLE, db, [block]);

/** Makes the carried blocks the chain. */
export async function replaceBlocks(db: Queryable): Promise<void> {
  await db.query(`truncate ${CHAIN_TABLE}`);
  await db.query(
    `insert into ${CHAIN_TABLE} (${NAMES}) select ${NAMES} from ${CARRIED_TABLE} order by last_ordinal`,
  );
  await db.query('truncate records.chain_carried');
  await db.query(
    `insert into records.chain_carried (until_ordinal) select max(last_ordinal) from ${CHAIN_TABLE} having count(*) > 0`,
  );
}

/** One statement for any number of blocks. Fails if one of them already exists. */
export const insertBlocks = (db: Queryable, blocks: readonly Block[]): Promise<void> =>
  insertInto(CHAIN_TABLE, db, blocks);

async function insertInto(table: string, db: Queryable, blocks: readonly Block[]): Promise<void> {
  const tuples = blocks.map((_block, row) => {
    const cells = COLUMNS.map(([, type], column) => `$${row * COLUMNS.length + column + 1}::${type}`);
    return `(${cells.join(', ')})`;
  });
  await db.query(
    `insert into ${table} (${NAMES}) values ${tuples.join(', ')}`,
    blocks.flatMap(({ entries, ...block }) => [
      block.firstOrdinal,
      block.lastOrdinal,
      block.hashBefore,
      block.hashAfter,
      block.lastPosition,
      block.recordedUntilMs,
      idBytes(entries.map(({ id }) => id)),
      Buffer.concat(entries.map(({ hash }) => hash)),
      textArray(entries.map(({ stream }) => stream)),
      int8Array(entries.map(({ revision }) => revision)),
      int8Array(entries.map(({ recordedAtMs }) => recordedAtMs)),
    ]),
  );
}

/** The driver's parser of arrays takes ten times as long as that of JSON. */
const READ_NAMES = COLUMNS.map(([name, type]) =>
  type.endsWith('[]') ? `to_json(${name}) as ${name}` : name,
).join(', ');

/** About as many entries are read at a time: some milliseconds of work. */
const ENTRIES_A_READ = 4_000;
const MOST_BLOCKS_A_READ = 50;

/** The blocks up to an ordinal, in order; if another ordinal is given, only those after it. */
export async function* readBlocks(db: Queryable, upTo: Ordinal, behind: Ordinal = 0): AsyncGenerator<Block> {
  const read = async (after: Ordinal, count: number) => {
    const { rows } = await db.query<BlockRow>({
      name: 'coffer-chain-blocks',
      text: `select ${READ_NAMES} from records.chain_blocks
              where last_ordinal > $1 and last_ordinal <= $2 order by last_ordinal limit $3`,
      values: [after, upTo, count],
    });
    return rows;
  };
  let count = ENTRIES_A_READ / MAX_BLOCK_EVENTS;
  let upcoming = read(behind, count);
  try {
    for (;;) {
      const rows: readonly BlockRow[] = await upcoming;
      const last = rows.at(-1);
      const isEnd = !last || rows.length < count;
      if (!isEnd) {
        const entries = rows.reduce((sum, { streams }) => sum + streams.length, 1);
        const fitting = Math.floor((ENTRIES_A_READ * rows.length) / entries);
        count = Math.max(1, Math.min(fitting, MOST_BLOCKS_A_READ));
        // The next blocks are fetched while these are compared; a failure is seen when they are awaited.
        upcoming = read(Number(last.last_ordinal), count);
        upcoming.catch(() => undefined);
      }
      for (const row of rows) yield new StoredBlock(row);
      if (isEnd) return;
    }
  } finally {
    // The connection may be about to be returned.
    await upcoming.catch(() => undefined);
  }
}

/** The end of the last block that ends at or before the ordinal. */
export async function readHeadUpTo(db: Queryable, ordinal: Ordinal): Promise<ChainHead | undefined> {
  const { rows } = await db.query<HeadRow>(
    `select ${HEAD_NAMES} from records.chain_blocks
      where last_ordinal <= $1 order by last_ordinal desc limit 1`,
    [ordinal],
  );
  return rows[0] && headIn(rows[0]);
}

const OVER = `
  where last_ordinal >= $1
    and last_ordinal <= coalesce(
          (select last_ordinal from records.chain_blocks where last_ordinal >= $2 order by last_ordinal limit 1), $2)
  order by last_ordinal`;

/** The blocks that hold events with these ordinals, in order. */
export async function readBlocksOver(
  db: Queryable,
  first: Ordinal,
  last: Ordinal,
): Promise<readonly Block[]> {
  const { rows } = await db.query<BlockRow>(`select ${READ_NAMES} from records.chain_blocks ${OVER}`, [
    first,
    last,
  ]);
  return rows.map((row) => new StoredBlock(row));
}

/** Of a block no more than its hashes. */
export interface BlockHashes {
  readonly firstOrdinal: Ordinal;
  readonly hashBefore: Buffer;
  /** One after the other. */
  readonly hashes: Buffer;
}

/** Of the blocks that hold events with these ordinals, in order. */
export async function readHashesOver(
  db: Queryable,
  first: Ordinal,
  last: Ordinal,
): Promise<readonly BlockHashes[]> {
  const { rows } = await db.query<Pick<BlockRow, 'first_ordinal' | 'hash_before' | 'hashes'>>({
    name: 'coffer-chain-hashes',
    text: `select first_ordinal, hash_before, hashes from records.chain_blocks ${OVER}`,
    values: [first, last],
  });
  return rows.map(({ first_ordinal, hash_before, hashes }) => ({
    firstOrdinal: Number(first_ordinal),
    hashBefore: hash_before,
    hashes,
  }));
}

/** The end of the first block that ends after the ordinal. */
export async function readHeadBehind(db: Queryable, ordinal: Ordinal): Promise<ChainHead | undefined> {
  const { rows } = await db.query<HeadRow>(
    `select ${HEAD_NAMES} from records.chain_blocks where last_ordinal > $1 order by last_ordinal limit 1`,
    [ordinal],
  );
  return rows[0] && headIn(rows[0]);
}

/** The first block in which a time is exceeded, if any, and the end of the chain before it. */
export async function readBlockAt(
  db: Queryable,
  timeMs: number,
): Promise<{ readonly before: ChainHead | undefined; readonly block: Block | undefined }> {
  const { rows } = await db.query<BlockRow>(
    `select ${READ_NAMES} from records.chain_blocks
      where recorded_until_ms > $1 order by recorded_until_ms, last_ordinal limit 1`,
    [timeMs],
  );
  // Read after the block: anything appended in between can only shorten the distance after the blocks.
  const before = await db.query<HeadRow>(
    `select ${HEAD_NAMES} from records.chain_blocks
      where recorded_until_ms <= $1 order by recorded_until_ms desc, last_ordinal desc limit 1`,
    [timeMs],
  );
  return { before: before.rows[0] && headIn(before.rows[0]), block: rows[0] && new StoredBlock(rows[0]) };
}

/** The end of the last block that passes the test; it holds for all up to some block and for none after. */
export async function lastBlockWhere(
  db: Queryable,
  test: (head: ChainHead) => boolean,
): Promise<ChainHead | undefined> {
  const count = await db.query<{ readonly count: string }>(
    'select count(*) as count from records.chain_blocks',
  );
  let found: ChainHead | undefined;
  let [low, high] = [0, Number(count.rows[0]?.count)];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const { rows } = await db.query<HeadRow>(
      `select ${HEAD_NAMES} from records.chain_blocks order by last_ordinal offset $1 limit 1`,
      [middle],
    );
    const head = rows[0] && headIn(rows[0]);
    if (head && test(head)) {
      found = head;
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return found;
}

interface HeadRow {
  readonly last_ordinal: string;
  readonly hash_after: Buffer;
  readonly last_position: string;
  readonly event_ids: Buffer;
  readonly recorded_until_ms: string;
}

interface BlockRow extends HeadRow {
  readonly first_ordinal: string;
  readonly hash_before: Buffer;
  readonly hashes: Buffer;
  readonly streams: readonly string[];
  readonly revisions: readonly number[];
  readonly recorded_ms: readonly number[];
}

function headIn(row: HeadRow): ChainHead {
  return {
    ordinal: Number(row.last_ordinal),
    hash: row.hash_after,
    // The store returned this exact text as a position when the block was written.
    place: { position: row.last_position as Position, eventId: idText(row.event_ids.subarray(-UUID_BYTES)) },
    recordedUntilMs: Number(row.recorded_until_ms),
  };
}

/**
 * A row that was tampered with may contradict itself: it is read as far as possible, and reports the
 * contradiction.
 */
class StoredBlock implements Block {
  readonly firstOrdinal: Ordinal;
  readonly lastOrdinal: Ordinal;
  readonly hashBefore: Buffer;
  readonly hashAfter: Buffer;
  readonly lastPosition: Position;
  readonly recordedUntilMs: number;
  readonly columns: EntryColumns;
  readonly contradiction: string | undefined;

  constructor(row: BlockRow) {
    const { event_ids: ids, hashes, streams, revisions, recorded_ms: recordedMs } = row;
    const counts = [
      Number(row.last_ordinal) - Number(row.first_ordinal) + 1,
      ids.length / UUID_BYTES,
      hashes.length / HASH_BYTES,
      streams.length,
      revisions.length,
      recordedMs.length,
    ];
    const count = Math.floor(Math.min(...counts.slice(1)));
    this.firstOrdinal = Number(row.first_ordinal);
    this.lastOrdinal = Number(row.last_ordinal);
    this.hashBefore = row.hash_before;
    this.hashAfter = row.hash_after;
    // The store returned this exact text as a position when the block was written.
    this.lastPosition = row.last_position as Position;
    this.recordedUntilMs = Number(row.recorded_until_ms);
    this.columns = { count, ids: ids.toString('hex'), hashes, streams, revisions, recordedMs };
    this.contradiction = contradictionIn(row, counts, this.columns);
  }

  get entries(): readonly ChainEntry[] {
    return Array.from({ length: this.columns.count }, (_, index) => entryIn(this.columns, index));
  }
}

function contradictionIn(
  row: BlockRow,
  counts: readonly number[],
  columns: EntryColumns,
): string | undefined {
  if (new Set(counts).size > 1) return 'it does not hold as many events as its ordinals say';
  const { count } = columns;
  if (count === 0 || !hashIn(columns, count - 1).equals(row.hash_after)) {
    return 'it does not end with the hash of its last event';
  }
  if (latestIn(columns, Number.MIN_SAFE_INTEGER) > Number(row.recorded_until_ms)) {
    return 'one of its events is later than the block says';
  }
  return undefined;
}
