/**
 * The stakes of a pool, in columns instead of objects: some 150 bytes each, of which the garbage collector walks none.
 * Versions share their columns. The newest version is extended in place; an older one is copied first. So a version
 * never changes, whatever is decided on another one.
 */
import assert from 'node:assert/strict';
import { grownCapacity, KeyIndex, keyWordsOf } from '@coffer/kernel';

export interface NewStake {
  readonly betId: string;
  readonly userId: string;
  /** Base units, below 2^64. */
  readonly amount: bigint;
  /** ISO 8601 UTC with milliseconds. */
  readonly lockedAt: string;
  readonly confirmBy: string;
}

export type StakeStanding = 'locked' | 'confirmed' | 'released';

export interface Stake extends NewStake {
  /** Its number in the pool, from 1. */
  readonly stake: number;
  readonly standing: StakeStanding;
}

/** One version: what the first `changes` changes made of the columns that it shares with others. */
export interface Stakes {
  readonly count: number;
  /** Every lock, confirmation and release is one. */
  readonly changes: number;
  readonly columns: Columns;
}

interface Columns {
  /** Changes made to these columns, by the newest version. */
  changes: number;
  readonly bets: KeyIndex;
  amounts: BigUint64Array;
  /** In pairs: when it was locked and until when it may wait, in milliseconds since 1970. */
  times: Float64Array;
  /** In pairs: the number of the change that confirmed and that released it; 0 for none. */
  marks: Uint32Array;
  /** Bet and user of each stake, one after the other. */
  texts: Uint8Array;
  /** In pairs: where the bet and the user of each stake end. */
  ends: Uint32Array;
}

const LEAST_TEXT_BYTES = 256;
/** Of the arrays themselves, without what is in them. */
const BYTES_OF_COLUMNS = 2_000;

export const noStakes = (): Stakes => ({ count: 0, changes: 0, columns: columnsFor(new KeyIndex(), 4, 256) });

function columnsFor(bets: KeyIndex, capacity: number, textBytes: number): Columns {
  return {
    changes: 0,
    bets,
    amounts: new BigUint64Array(capacity),
    times: new Float64Array(2 * capacity),
    marks: new Uint32Array(2 * capacity),
    texts: new Uint8Array(textBytes),
    ends: new Uint32Array(2 * capacity),
  };
}

/** The number of the stake of a bet; undefined if there is none. */
export function stakeOf({ count, columns }: Stakes, betId: string): number | undefined {
  const place = columns.bets.find(keyWordsOf(betId));
  return place < 0 || place >= count ? undefined : place + 1;
}

export function stakeAt(stakes: Stakes, stake: number): Stake {
  const { times } = stakes.columns;
  const place = stake - 1;
  return {
    stake,
    betId: betIdAt(stakes, stake),
    userId: userIdAt(stakes, stake),
    amount: amountAt(stakes, stake),
    standing: standingAt(stakes, stake),
    lockedAt: new Date(times[2 * place] ?? 0).toISOString(),
    confirmBy: new Date(times[2 * place + 1] ?? 0).toISOString(),
  };
}

export function betIdAt({ columns }: Stakes, stake: number): string {
  return textOf(columns, columns.ends[2 * stake - 3] ?? 0, columns.ends[2 * stake - 2] ?? 0);
}

export function userIdAt({ columns }: Stakes, stake: number): string {
  return textOf(columns, columns.ends[2 * stake - 2] ?? 0, columns.ends[2 * stake - 1] ?? 0);
}

export const amountAt = ({ columns }: Stakes, stake: number): bigint => columns.amounts[stake - 1] ?? 0n;

/** An earlier version does not know what later changes did to a stake. */
export function standingAt({ changes, columns: { marks } }: Stakes, stake: number): StakeStanding {
  const isMarked = (change = 0) => change > 0 && change <= changes;
  if (isMarked(marks[2 * stake - 1])) return 'released';
  return isMarked(marks[2 * stake - 2]) ? 'confirmed' : 'locked';
}

/** Whether a stake that is not confirmed may be released: `at` is in milliseconds since 1970. */
export function isOverdueAt({ columns: { times } }: Stakes, stake: number, at: number, olderThanMs: number) {
  const [lockedAt = 0, confirmBy = 0] = times.subarray(2 * stake - 2, 2 * stake);
  return at >= confirmBy && at - lockedAt >= olderThanMs;
}

/** The version with one more stake. Asserts that its bet is new. */
export function withStake(before: Stakes, { betId, userId, amount, lockedAt, confirmBy }: NewStake): Stakes {
  assert(stakeOf(before, betId) === undefined, 'a bet has one stake');
  const { count: place } = before;
  const columns = nextOf(before);
  const bet = Buffer.from(betId, 'latin1');
  const user = Buffer.from(userId, 'latin1');
  const start = place === 0 ? 0 : (columns.ends[2 * place - 1] ?? 0);
  makeRoom(columns, place + 1, start + bet.length + user.length);
  columns.amounts[place] = amount;
  columns.times.set([Date.parse(lockedAt), Date.parse(confirmBy)], 2 * place);
  columns.marks.fill(0, 2 * place, 2 * place + 2);
  columns.texts.set(bet, start);
  columns.texts.set(user, start + bet.length);
  columns.ends.set([start + bet.length, start + bet.length + user.length], 2 * place);
  columns.bets.add(keyWordsOf(betId));
  return { count: place + 1, changes: columns.changes, columns };
}

export function withConfirmed(before: Stakes, stake: number): Stakes {
  assert(standingAt(before, stake) === 'locked', 'a stake is confirmed once, while it is locked');
  return marked(before, stake, 0);
}

export function withReleased(before: Stakes, stake: number): Stakes {
  assert(standingAt(before, stake) === 'locked', 'a stake is released once, while it is locked');
  return marked(before, stake, 1);
}

function marked(before: Stakes, stake: number, mark: 0 | 1): Stakes {
  assert(stake >= 1 && stake <= before.count, 'the stake is in the pool');
  const columns = nextOf(before);
  columns.marks[2 * stake - 2 + mark] = columns.changes;
  return { count: before.count, changes: columns.changes, columns };
}

/** The columns in which the next change may be made: those of the version itself if it is the newest. */
function nextOf(before: Stakes): Columns {
  const { columns } = before.changes === before.columns.changes ? before : decodeStakes(encodeStakes(before));
  columns.changes += 1;
  return columns;
}

function makeRoom(columns: Columns, count: number, textBytes: number): void {
  if (count > columns.amounts.length || textBytes > columns.texts.length) {
    const grown = columnsFor(
      columns.bets,
      count > columns.amounts.length ? grownCapacity(count) : columns.amounts.length,
      textBytes > columns.texts.length
        ? Math.max(LEAST_TEXT_BYTES, textBytes + (textBytes >> 3))
        : columns.texts.length,
    );
    grown.amounts.set(columns.amounts);
    grown.times.set(columns.times);
    grown.marks.set(columns.marks);
    grown.texts.set(columns.texts);
    grown.ends.set(columns.ends);
    const { amounts, times, marks, texts, ends } = grown;
    Object.assign(columns, { amounts, times, marks, texts, ends });
  }
}

const textOf = ({ texts }: Columns, from: number, to: number): string =>
  Buffer.from(texts.buffer, from, to - from).toString('latin1');

export function bytesOfStakes({ columns }: Stakes): number {
  const { bets, amounts, times, marks, texts, ends } = columns;
  return [amounts, times, marks, texts, ends].reduce(
    (bytes, column) => bytes + column.byteLength,
    BYTES_OF_COLUMNS + bets.bytes,
  );
}

/** One version for a snapshot: its columns as bytes, little-endian, one after the other. */
export interface EncodedStakes {
  readonly count: number;
  readonly changes: number;
  readonly bytes: Uint8Array;
}

export function encodeStakes({ count, changes, columns }: Stakes): EncodedStakes {
  const { bets, amounts, times, marks, texts, ends } = columns;
  const parts = [
    bets.encode(count),
    bytesOf(amounts.subarray(0, count)),
    bytesOf(times.subarray(0, 2 * count)),
    // Later changes are not of this version.
    bytesOf(marks.slice(0, 2 * count).map((change) => (change > changes ? 0 : change))),
    bytesOf(ends.subarray(0, 2 * count)),
    texts.subarray(0, count === 0 ? 0 : ends[2 * count - 1]),
  ];
  return { count, changes, bytes: Buffer.concat(parts) };
}

const BYTES_OF_KEY = 16;
/** Without its texts. */
const BYTES_OF_STAKE = BYTES_OF_KEY + 8 + 16 + 8 + 8;

/** Throws if the number of bytes does not fit. */
export function decodeStakes({ count, changes, bytes }: EncodedStakes): Stakes {
  const textBytes = bytes.length - count * BYTES_OF_STAKE;
  assert(textBytes >= 0, 'the columns are complete');
  let end = 0;
  const next = (length: number): Uint8Array => {
    end += length;
    return bytes.subarray(end - length, end);
  };
  const columns = columnsFor(KeyIndex.decode(next(count * BYTES_OF_KEY)), count + 1, textBytes + 128);
  columns.changes = changes;
  bytesOf(columns.amounts).set(next(count * 8));
  bytesOf(columns.times).set(next(count * 16));
  bytesOf(columns.marks).set(next(count * 8));
  bytesOf(columns.ends).set(next(count * 8));
  columns.texts.set(next(textBytes));
  assert.equal(count === 0 ? 0 : columns.ends[2 * count - 1], textBytes);
  return { count, changes, columns };
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Uint32Array | BigUint64Array | Float64Array) =>
  new Uint8Array(buffer, byteOffset, byteLength);
