/**
 * What a play session remembers of its writes: what the rules need of each, as numbers in a row of an index instead of an
 * object, some 55 bytes in all. Versions share their rows. The newest version is extended in place; an older one is
 * copied first. So a version never changes, whatever is decided on another one.
 *
 * Writes from a snapshot stay packed until one of them is needed: a new bet only needs to know that it is none of them.
 */
import assert from 'node:assert/strict';
import { KeyIndex, keyWordsOf } from '@coffer/kernel';
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
import { KINDS, kindAt, otherAt, setKindAndOther, WORD, WORDS, type WriteKind } from './writeRows.ts';

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
  /** How often a key was looked for among those. */
  searches: number;
  /** By `transactionUuid`, with the words of `WORD`: behind those that are packed, which no row is on. */
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

const noRows = (packed?: PackedWrites): Shared => ({
  packed,
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
  if (shared.packed) {
    shared.searches += 1;
    const isNew = !mayHold(shared.packed, key) && shared.rows.find(key) < 0;
    if (isNew && shared.searches < MOST_SEARCHES) return undefined;
  }
  const place = rowsOf(shared).find(key);
  return place < 0 || place >= size ? undefined : place;
}

/** All rows: none is packed any longer. */
function rowsOf(shared: Shared): KeyIndex {
  const { packed, rows: added } = shared;
  if (!packed) return added;
  const rows = unpack(packed, added.size + 1);
  const key = new Uint32Array(4);
  for (let row = 0; row < added.size; row++) {
    added.copyKey(row, key, 0);
    rows.add(key);
    for (let word = 0; word < WORDS; word++) rows.set(packed.size + row, word, added.get(row, word));
  }
  shared.rows = rows;
  shared.packed = undefined;
  return rows;
}

const sizeOf = ({ packed, rows }: Shared): number => (packed?.size ?? 0) + rows.size;

/** Undefined beyond the last write. */
export function writeAt(writes: SessionWrites, place: number): Write | undefined {
  const { shared, size } = writes;
  if (place >= size) return undefined;
  const rows = rowsOf(shared);
  const { amount, balance } = shared.large?.get(place) ?? {
    amount: rows.getFigure(place, WORD.amount),
    balance: rows.getFigure(place, WORD.balance),
  };
  return { kind: kindAt(rows, place), place, amount, balance, fate: fateAt(rows, size, place) };
}

/** An earlier version does not know what a later one has decided about a bet. */
function fateAt(rows: KeyIndex, size: number, place: number): Write['fate'] {
  const decidedAt = otherAt(rows, place) - 1;
  if (kindAt(rows, place) !== 'bet' || decidedAt < 0 || decidedAt >= size) return 'open';
  return kindAt(rows, decidedAt) === 'win' ? 'won' : 'rolledBack';
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
  const rows = rowsOf(shared);
  const [first, second] = [rows.get(place, WORD.round), rows.get(place, WORD.round + 1)];
  if (roundId === undefined) return second === 0;
  const key = keyWordsOf(roundId);
  return first === key[0] && second === secondOf(key);
}

function isOnBetNamed(writes: SessionWrites, { kind, place }: Write, betTransactionUuid: string): boolean {
  if (kind === 'rememberedRollback') return rememberedAt(writes.shared, betTransactionUuid) === place;
  return placeOf(writes, betTransactionUuid) === otherAt(rowsOf(writes.shared), place) - 1;
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
  setKindAndOther(rows, row, KINDS.indexOf(kind), bet);
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
  const rows = rowsOf(shared);
  const bet = rows.find(keyWordsOf(betTransactionUuid));
  assert(bet >= 0 && kindAt(rows, bet) === 'bet', `${betTransactionUuid} is not a bet`);
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

/** Without what others have added or decided. */
const copyOf = (writes: SessionWrites): Shared => decodeWrites(encodeWrites(writes)).shared;

export function bytesOfWrites({ shared: { packed, rows, remembered, large } }: SessionWrites): number {
  return (
    BYTES_OF_SHARED +
    (packed ? bytesOfPacked(packed) : 0) +
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

const WORDS_OF_KEY = 4;

export function encodeWrites({ size, shared }: SessionWrites): EncodedWrites {
  const { packed: before, rows, remembered, large } = shared;
  const packed = pack(before, rows, size - (before?.size ?? 0));
  const places: number[] = [];
  const keys = new Uint32Array((remembered?.size ?? 0) * WORDS_OF_KEY);
  for (let at = 0; remembered && at < remembered.size; at++) {
    const place = remembered.get(at, 0);
    if (place >= size) continue;
    remembered.copyKey(at, keys, places.length * WORDS_OF_KEY);
    places.push(place);
  }
  return {
    size,
    bodyWords: bodyWordsOf(packed),
    remembered: places,
    large: [...(large ?? [])].flatMap(([place, figures]) => (place < size ? [{ place, ...figures }] : [])),
    bytes: bytesOf(packed, keys.subarray(0, places.length * WORDS_OF_KEY)),
  };
}

/** Throws if the number of bytes does not fit. */
export function decodeWrites({ size, bodyWords, remembered, large, bytes }: EncodedWrites): SessionWrites {
  const otherWords = remembered.length * WORDS_OF_KEY;
  const { packed, others } = packedIn(bytes, { size, bodyWords, otherWords });
  const shared = noRows(packed);
  remembered.forEach((place, at) => {
    remember(shared, others, place, at * WORDS_OF_KEY);
  });
  if (large.length > 0) {
    shared.large = new Map(large.map(({ place, amount, balance }) => [place, { amount, balance }]));
  }
  return { size, shared };
}
