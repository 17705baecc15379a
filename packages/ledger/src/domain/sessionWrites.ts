/**
 * What a play session remembers of its writes: what the rules need of each, as numbers in a row of an index instead of an
 * object, some 55 bytes in all. Versions share their rows. The newest version is extended in place; an older one is
 * copied first. So a version never changes, whatever is decided on another one.
 *
 * Writes from a snapshot stay packed until one of them is needed: a new bet only needs to know that it is none of them.
 * Of writes from an outline only marks are there, which say as much; where one of them is needed, all have to be read.
 */
import assert from 'node:assert/strict';
import { KeyIndex, type KeyWords, keyWordsOf, WholeStateNeeded } from '@coffer/kernel';
import {
  bodyWordsOf,
  bytesOf,
  bytesOfPacked,
  mayHold,
  type PackedWrites,
  pack,
  packedIn,
  unpack,
} from './packedWrites.ts';
import type { BetContent, RollbackContent, WinContent } from './playSession.resource.ts';
import {
  MOST_MARKED,
  marksOfPacked,
  marksOfRows,
  mayBeMarked,
  rowsIn,
  textOf,
  UNITS_OF_ROW,
  type WriteMarks,
} from './writeMarks.ts';
import {
  BET,
  KIND_SHIFT,
  KINDS,
  kindAt,
  OTHER_MASK,
  otherAt,
  setKindAndOther,
  WORD,
  WORDS,
  WORDS_OF_KEY,
  type WriteKind,
} from './writeRows.ts';

/** What is recorded of a write. Amounts in base units. */
export interface NewWrite {
  readonly kind: WriteKind;
  readonly transactionUuid: string;
  readonly amount: bigint;
  /** The session's balance after the write. */
  readonly balance: bigint;
  readonly roundId?: string | undefined;
  /** Present in wins and in both kinds of rollback. */
  readonly betTransactionUuid?: string;
}

/** A write as it is read back. */
export interface Write {
  readonly kind: WriteKind;
  /** Counted from 0. */
  readonly place: number;
  readonly amount: bigint;
  readonly balance: bigint;
  /** The fate of a bet. */
  readonly fate: 'open' | 'won' | 'rolledBack';
}

/** One version: the first `size` of the rows that it shares with others. */
export interface SessionWrites {
  readonly size: number;
  readonly shared: Shared;
}

interface Shared {
  /** The first writes, as they came from a snapshot; undefined once one of them was needed. */
  packed: PackedWrites | undefined;
  /** The first writes, where no more is known of them. */
  readonly marks: WriteMarks | undefined;
  /** How often a key was looked for among those that are packed. */
  searches: number;
  /** By `transactionUuid`, with the words of `WORD`: behind those that are packed or marked, which no row is on. */
  rows: KeyIndex;
  /** Bets whose rollback came first, with the place of that rollback; undefined until there is one. */
  remembered: KeyIndex | undefined;
  /** By place: figures of more than 64 bits; undefined until there is one. */
  large: Map<number, Pick<Write, 'amount' | 'balance'>> | undefined;
}

/** Of the objects that hold the rows together; measured. */
const BYTES_OF_SHARED = 1_000;
const BYTES_OF_LARGE = 200;

const MOST_IN_64_BITS = 2n ** 64n - 1n;
/** Unpacking takes as long as 70 searches with 100 writes, and as 240 with 1,000 and more. */
const MOST_SEARCHES = 64;

const noRows = (packed?: PackedWrites, marks?: WriteMarks): Shared => ({
  packed,
  marks,
  searches: 0,
  rows: new KeyIndex(WORDS),
  remembered: undefined,
  large: undefined,
});

export const noWrites = (): SessionWrites => ({ size: 0, shared: noRows() });

/** The write under a uuid; undefined if there is none. */
export function writeUnder(writes: SessionWrites, transactionUuid: string): Write | undefined {
  const place = placeOf(writes, transactionUuid);
  return place === undefined ? undefined : writeAt(writes, place);
}

function placeOf({ size, shared }: SessionWrites, transactionUuid: string): number | undefined {
  const key = keyWordsOf(transactionUuid);
  let row = shared.rows.find(key);
  if (row < 0 && mayBeBefore(shared, key)) {
    unpackAll(shared);
    row = shared.rows.find(key);
  }
  const place = sizeBefore(shared) + row;
  return row < 0 || place >= size ? undefined : place;
}

/** Whether a key may be one of those before the rows, or is looked for too often there. */
function mayBeBefore(shared: Shared, key: KeyWords): boolean {
  const { packed, marks } = shared;
  if (marks !== undefined) return mayBeMarked(marks, key);
  if (!packed) return false;
  shared.searches += 1;
  return shared.searches >= MOST_SEARCHES || mayHold(packed, key);
}

/** The row of a write. */
function rowOf(shared: Shared, place: number): number {
  if (place < sizeBefore(shared)) unpackAll(shared);
  return place - sizeBefore(shared);
}

/** Into rows. Throws where marks are all there is. */
function unpackAll(shared: Shared): void {
  const { packed, marks, rows: added } = shared;
  if (marks !== undefined) throw new WholeStateNeeded();
  if (!packed) return;
  const rows = unpack(packed, added.size + 1);
  const key = new Uint32Array(WORDS_OF_KEY);
  for (let row = 0; row < added.size; row++) {
    added.copyKey(row, key, 0);
    rows.add(key);
    for (let word = 0; word < WORDS; word++) rows.set(packed.size + row, word, added.get(row, word));
  }
  shared.rows = rows;
  shared.packed = undefined;
}

const sizeBefore = ({ packed, marks }: Shared): number => packed?.size ?? marks?.length ?? 0;
const sizeOf = (shared: Shared): number => sizeBefore(shared) + shared.rows.size;

/** Undefined beyond the last write. */
export function writeAt(writes: SessionWrites, place: number): Write | undefined {
  const { shared, size } = writes;
  if (place >= size) return undefined;
  const row = rowOf(shared, place);
  const { rows } = shared;
  const { amount, balance } = shared.large?.get(place) ?? {
    amount: rows.getFigure(row, WORD.amount),
    balance: rows.getFigure(row, WORD.balance),
  };
  return { kind: kindAt(rows, row), place, amount, balance, fate: fateAt(writes, row) };
}

/** An earlier version does not know what a later one has decided about a bet. */
function fateAt({ shared, size }: SessionWrites, row: number): Write['fate'] {
  const { rows } = shared;
  const decidedAt = otherAt(rows, row) - 1;
  if (kindAt(rows, row) !== 'bet' || decidedAt < 0 || decidedAt >= size) return 'open';
  return kindAt(rows, rowOf(shared, decidedAt)) === 'win' ? 'won' : 'rolledBack';
}

/** For each field of a request, whether a write was recorded with this value. A missing field does not compile. */
export type IsSame = {
  readonly [Field in keyof Omit<BetContent & WinContent & RollbackContent, 'transactionUuid'>]-?: (
    value: (BetContent & WinContent & RollbackContent)[Field],
  ) => boolean;
};

export const comparerOf = (writes: SessionWrites, write: Write): IsSame => ({
  amount: (amount) => write.amount === amount,
  roundId: (roundId) => isOfRound(writes, write, roundId),
  betTransactionUuid: (uuid) => isOnBetNamed(writes, write, uuid),
});

function isOfRound({ shared }: SessionWrites, { place }: Write, roundId: string | undefined) {
  const row = rowOf(shared, place);
  const { rows } = shared;
  const [first, second] = [rows.get(row, WORD.round), rows.get(row, WORD.round + 1)];
  if (roundId === undefined) return second === 0;
  const key = keyWordsOf(roundId);
  return first === key[0] && second === secondOf(key);
}

function isOnBetNamed(writes: SessionWrites, { kind, place }: Write, betTransactionUuid: string): boolean {
  if (kind === 'rememberedRollback') return rememberedAt(writes.shared, betTransactionUuid) === place;
  // The search may unpack what is before the rows.
  const bet = placeOf(writes, betTransactionUuid);
  return bet === otherAt(writes.shared.rows, rowOf(writes.shared, place)) - 1;
}

function rememberedAt({ remembered }: Shared, betTransactionUuid: string): number | undefined {
  const at = remembered?.find(keyWordsOf(betTransactionUuid)) ?? -1;
  return at < 0 ? undefined : remembered?.get(at, 0);
}

/** Two of the four words are enough to tell rounds apart under the same uuid. Never 0, which means no round. */
const secondOf = (key: Uint32Array): number => key[1] || 1;

/** Whether the rollback of a bet came before the bet. */
export function isRemembered({ size, shared }: SessionWrites, betTransactionUuid: string): boolean {
  const place = rememberedAt(shared, betTransactionUuid);
  return place !== undefined && place < size;
}

/** The version with one more write. Asserts that its uuid is new and that any bet it refers to exists. */
export function withWrite(before: SessionWrites, write: NewWrite): SessionWrites {
  assert(placeOf(before, write.transactionUuid) === undefined, 'a transactionUuid is used once');
  const { size: place } = before;
  const shared = place === sizeOf(before.shared) ? before.shared : copyOf(before);
  const { kind, amount, balance, roundId, betTransactionUuid } = write;
  // Everything that can throw comes before anything is written.
  const bet = betTransactionUuid === undefined ? -1 : betOf(shared, kind, betTransactionUuid);
  const { rows } = shared;
  const row = rows.size;
  rows.add(keyWordsOf(write.transactionUuid));
  setKindAndOther(rows, row, KINDS.indexOf(kind), bet, sizeBefore(shared));
  rows.setFigure(row, WORD.amount, amount);
  rows.setFigure(row, WORD.balance, balance);
  if (amount > MOST_IN_64_BITS || balance > MOST_IN_64_BITS) {
    shared.large ??= new Map();
    shared.large.set(place, { amount, balance });
  }
  if (roundId !== undefined) setRound(rows, row, keyWordsOf(roundId));
  if (kind === 'rememberedRollback' && betTransactionUuid !== undefined) {
    remember(shared, keyWordsOf(betTransactionUuid), place);
  }
  return { size: place + 1, shared };
}

/** The place of the bet that a write is on; -1 where the bet has not come. */
function betOf(shared: Shared, kind: WriteKind, betTransactionUuid: string): number {
  if (kind === 'rememberedRollback') {
    assert(rememberedAt(shared, betTransactionUuid) === undefined, 'a rollback is remembered once');
    return -1;
  }
  const bet = placeOf({ size: sizeOf(shared), shared }, betTransactionUuid) ?? -1;
  assert(bet >= 0 && kindAt(shared.rows, rowOf(shared, bet)) === 'bet', `${betTransactionUuid} is not a bet`);
  return bet;
}

function setRound(rows: KeyIndex, place: number, key: Uint32Array): void {
  rows.set(place, WORD.round, key[0] ?? 0);
  rows.set(place, WORD.round + 1, secondOf(key));
}

function remember(shared: Shared, betKey: Uint32Array, place: number, from = 0): void {
  shared.remembered ??= new KeyIndex(1);
  shared.remembered.add(betKey, from);
  shared.remembered.set(shared.remembered.size - 1, 0, place);
}

function rememberAll(shared: Shared, places: readonly number[], betKeys: Uint32Array): void {
  for (const [at, place] of places.entries()) remember(shared, betKeys, place, at * WORDS_OF_KEY);
}

/** Without what others have added or decided. */
function copyOf(writes: SessionWrites): Shared {
  const { size, shared } = writes;
  if (isWhole(writes)) return decodeWrites(encodeWrites(writes)).shared;
  const copy = noRows(undefined, shared.marks);
  copy.rows = KeyIndex.decode(lastRowsOf(writes, size - sizeBefore(shared)), WORDS);
  const { places, keys } = rememberedIn(writes);
  rememberAll(copy, places, keys);
  copy.large = shared.large && new Map([...shared.large].filter(([place]) => place < size));
  return copy;
}

/** Encoded, without what a later version has decided. */
function lastRowsOf({ size, shared }: SessionWrites, count: number): Uint32Array {
  const behind = size - sizeBefore(shared);
  const words = shared.rows.encode(behind, behind - count);
  const step = WORDS_OF_KEY + WORDS;
  for (let at = WORDS_OF_KEY + WORD.kindAndOther; at < words.length; at += step) {
    const kindAndOther = words[at] ?? 0;
    const isBet = kindAndOther >>> KIND_SHIFT === BET;
    if (isBet && (kindAndOther & OTHER_MASK) > size) words[at] = BET << KIND_SHIFT;
  }
  return words;
}

export function bytesOfWrites({ shared: { packed, marks, rows, remembered, large } }: SessionWrites): number {
  return (
    BYTES_OF_SHARED +
    (packed ? bytesOfPacked(packed) : 0) +
    (marks?.length ?? 0) * Uint16Array.BYTES_PER_ELEMENT +
    rows.bytes +
    (remembered?.bytes ?? 0) +
    (large?.size ?? 0) * BYTES_OF_LARGE
  );
}

/** One version for a snapshot. */
export interface EncodedWrites {
  readonly size: number;
  readonly bodyWords: number;
  /** The places of rollbacks that came before their bets. */
  readonly remembered: readonly number[];
  readonly large: readonly Pick<Write, 'place' | 'amount' | 'balance'>[];
  /** The packed writes, then the keys of the bets of those rollbacks. */
  readonly bytes: Uint8Array;
}

export function encodeWrites(writes: SessionWrites): EncodedWrites {
  const { size, shared } = writes;
  const { packed: before, rows, large } = shared;
  assert(isWhole(writes), 'an outline is not kept as a snapshot');
  const packed = pack(before, rows, size - sizeBefore(shared));
  const { places, keys } = rememberedIn(writes);
  return {
    size,
    bodyWords: bodyWordsOf(packed),
    remembered: places,
    large: [...(large ?? [])].flatMap(([place, figures]) => (place < size ? [{ place, ...figures }] : [])),
    bytes: bytesOf(packed, keys),
  };
}

/** The places of rollbacks that came before their bets, and the keys of those bets. */
function rememberedIn({ size, shared: { remembered } }: SessionWrites) {
  const places: number[] = [];
  const keys = new Uint32Array((remembered?.size ?? 0) * WORDS_OF_KEY);
  for (let at = 0; remembered && at < remembered.size; at++) {
    const place = remembered.get(at, 0);
    if (place >= size) continue;
    remembered.copyKey(at, keys, places.length * WORDS_OF_KEY);
    places.push(place);
  }
  return { places, keys: keys.subarray(0, places.length * WORDS_OF_KEY) };
}

/** Throws if the number of bytes does not fit. */
export function decodeWrites({ size, bodyWords, remembered, large, bytes }: EncodedWrites): SessionWrites {
  const otherWords = remembered.length * WORDS_OF_KEY;
  const { packed, others } = packedIn(bytes, { size, bodyWords, otherWords });
  const shared = noRows(packed);
  rememberAll(shared, remembered, others);
  if (large.length > 0) {
    shared.large = new Map(large.map(({ place, amount, balance }) => [place, { amount, balance }]));
  }
  return { size, shared };
}

/** Whether more than marks is known of each. */
export const isWhole = ({ shared }: SessionWrites): boolean => shared.marks === undefined;

/** Some of the writes as an outline has them. */
export interface OutlinedWrites {
  /** The marks of the first writes, then the rows of the last ones. */
  readonly marks: string;
  readonly rows: number;
}

/** With the rows of the last writes, as many as are wanted and at hand. Undefined where marks do not tell enough. */
export function outlineWrites(writes: SessionWrites, wanted: number): OutlinedWrites | undefined {
  const { size, shared } = writes;
  const { packed, marks = '', remembered, large } = shared;
  if (size > MOST_MARKED || remembered || large) return undefined;
  const behind = size - sizeBefore(shared);
  const rows = Math.min(wanted, behind);
  const first = (packed ? marksOfPacked(packed) : marks) + marksOfRows(shared.rows, behind - rows);
  return { marks: rows === 0 ? first : first + textOf(lastRowsOf(writes, rows)), rows };
}

export function writesIn({ marks, rows }: OutlinedWrites): SessionWrites {
  const size = marks.length - rows * UNITS_OF_ROW;
  const shared = noRows(undefined, marks.slice(0, size));
  if (rows > 0) shared.rows = rowsIn(marks.slice(size));
  return { size: size + rows, shared };
}
