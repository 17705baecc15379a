/**
 * The writes of a session as a snapshot has them: first the keys, then of each a word with its kind and flags, and what
 * the flags name. What follows from other writes is left out. A key is looked for without unpacking.
 */
import assert from 'node:assert/strict';
import { KEY_AND_NEXT, KeyIndex, type KeyWords } from '@coffer/kernel';
import {
  BET,
  isOnBet,
  KIND_SHIFT,
  OTHER_MASK,
  setKindAndOther,
  WORD,
  WORDS,
  WORDS_OF_KEY,
} from './writeRows.ts';

export interface PackedWrites {
  readonly size: number;
  /**
   * The first words of the keys, the rest of the keys, bodies, and the balance after the last write, from which that of the
   * next one follows.
   */
  readonly words: Uint32Array;
  /** At the beginning of `words`, all next to each other: one call of the engine searches them. */
  readonly firstWords: Uint32Array;
}

const OTHER_WORDS_OF_KEY = WORDS_OF_KEY - 1;
const WORDS_OF_BALANCE = 2;
/** Kind and flags, and two words each for amount, balance and round. */
const MOST_WORDS_OF_BODY = 1 + 6;
const KIND_BITS = 0b111;
const FLAG = {
  /** The amount has a word, or two. Otherwise, it follows the flags, or is 0 where the place of a bet follows them. */
  amount: 8,
  wideAmount: 16,
  /** The balance is not what kind and amount make of the one before. */
  balance: 32,
  round: 64,
  /** The round is that of the bet. What decided a bet is not told at all: the first write on it did. */
  roundOfBet: 128,
} as const;
const FLAG_BITS = 8;
const MOST_AFTER_FLAGS = 2 ** (32 - FLAG_BITS) - 1;

/** The balance that a write leaves, in two words. */
const reckoned = new Uint32Array(WORDS_OF_BALANCE);

/**
 * Into `reckoned`, from the balance before: without a carry, which few writes have and which is then told as any other
 * balance.
 */
function reckonBalance(kind: number, low: number, high: number): void {
  const sign = kind === BET ? -1 : isOnBet(kind) ? 1 : 0;
  reckoned[0] = (reckoned[0] ?? 0) + sign * low;
  reckoned[1] = (reckoned[1] ?? 0) + sign * high;
}

/**
 * With the first so many rows behind those that are packed already, which no row is on. They are read without a call
 * for each word: a long session is packed while requests wait.
 */
export function pack(before: PackedWrites | undefined, rows: KeyIndex, count: number): PackedWrites {
  const sizeBefore = before?.size ?? 0;
  const added = new Uint32Array(count * MOST_WORDS_OF_BODY);
  // A session of no writes has no balance before; a figure is told where it is not 0.
  reckoned.set(before?.words.subarray(-WORDS_OF_BALANCE) ?? [0, 0]);
  let end = 0;
  for (let row = 0; row < count; row++) end = packRow(rows, row, sizeBefore, added, end);
  const size = sizeBefore + count;
  const bodiesBefore = before?.words.subarray(sizeBefore * WORDS_OF_KEY, -WORDS_OF_BALANCE) ?? NO_WORDS;
  const packed = packedOf(
    size,
    new Uint32Array(size * WORDS_OF_KEY + bodiesBefore.length + end + WORDS_OF_BALANCE),
  );
  const { words, firstWords } = packed;
  if (before) {
    firstWords.set(before.firstWords);
    words.set(before.words.subarray(sizeBefore, sizeBefore * WORDS_OF_KEY), size);
  }
  for (let row = 0; row < count; row++) {
    rows.copyKey(row, keyWords, 0);
    const place = sizeBefore + row;
    firstWords[place] = keyWords[0] ?? 0;
    words.set(keyWords.subarray(1), size + place * OTHER_WORDS_OF_KEY);
  }
  words.set(bodiesBefore, size * WORDS_OF_KEY);
  words.set(added.subarray(0, end), size * WORDS_OF_KEY + bodiesBefore.length);
  words.set(reckoned, words.length - WORDS_OF_BALANCE);
  return packed;
}

const NO_WORDS = new Uint32Array();
const keyWords = new Uint32Array(WORDS_OF_KEY);

const packedOf = (size: number, words: Uint32Array): PackedWrites => ({
  size,
  words,
  firstWords: words.subarray(0, size),
});

/** Returns where it ends. The bet of a row is counted with those before the rows, and is one of the rows. */
function packRow(rows: KeyIndex, row: number, before: number, bodies: Uint32Array, start: number): number {
  let end = start + 1;
  const block = rows.blockOf(row);
  const at = rows.rowAt(row) + KEY_AND_NEXT;
  const kindAndOther = block[at + WORD.kindAndOther] ?? 0;
  const kind = kindAndOther >>> KIND_SHIFT;
  const bet = isOnBet(kind) ? (kindAndOther & OTHER_MASK) - 1 : -1;
  const low = block[at + WORD.amount] ?? 0;
  const high = block[at + WORD.amount + 1] ?? 0;
  let flags = kind;
  let afterFlags = bet + 1;
  if (high === 0 && low <= MOST_AFTER_FLAGS && !isOnBet(kind)) afterFlags = low;
  else if (high !== 0 || low !== 0) {
    flags |= high === 0 ? FLAG.amount : FLAG.wideAmount;
    bodies[end++] = low;
    if (high !== 0) bodies[end++] = high;
  }
  assert(afterFlags <= MOST_AFTER_FLAGS);
  reckonBalance(kind, low, high);
  const balanceLow = block[at + WORD.balance] ?? 0;
  const balanceHigh = block[at + WORD.balance + 1] ?? 0;
  if (balanceLow !== reckoned[0] || balanceHigh !== reckoned[1]) {
    flags |= FLAG.balance;
    bodies[end++] = balanceLow;
    bodies[end++] = balanceHigh;
    reckoned[0] = balanceLow;
    reckoned[1] = balanceHigh;
  }
  const round = block[at + WORD.round] ?? 0;
  const roundToo = block[at + WORD.round + 1] ?? 0;
  if (roundToo !== 0) {
    const isOfBet =
      bet >= 0 &&
      round === rows.get(bet - before, WORD.round) &&
      roundToo === rows.get(bet - before, WORD.round + 1);
    flags |= isOfBet ? FLAG.roundOfBet : FLAG.round;
    if (!isOfBet) {
      bodies[end++] = round;
      bodies[end++] = roundToo;
    }
  }
  bodies[start] = flags | (afterFlags << FLAG_BITS);
  return end;
}

/** The rows, with room for so many more. */
export function unpack({ size, words, firstWords }: PackedWrites, more: number): KeyIndex {
  const rows = new KeyIndex(WORDS, size + more);
  const end = words.length - WORDS_OF_BALANCE;
  let at = size * WORDS_OF_KEY;
  reckoned.fill(0);
  for (let place = 0; place < size; place++) {
    assert(at < end);
    const rest = size + place * OTHER_WORDS_OF_KEY;
    keyWords[0] = firstWords[place] ?? 0;
    for (let word = 1; word < WORDS_OF_KEY; word++) keyWords[word] = words[rest + word - 1] ?? 0;
    rows.add(keyWords);
    at = unpackRow(rows, place, words, at);
  }
  assert.equal(at, end);
  return rows;
}

/** Returns where it ends. */
function unpackRow(rows: KeyIndex, place: number, bodies: Uint32Array, start: number): number {
  let end = start;
  const flags = bodies[end++] ?? 0;
  const kind = flags & KIND_BITS;
  const bet = isOnBet(kind) ? (flags >>> FLAG_BITS) - 1 : -1;
  setKindAndOther(rows, place, kind, bet);
  const block = rows.blockOf(place);
  const at = rows.rowAt(place) + KEY_AND_NEXT;
  let low = isOnBet(kind) ? 0 : flags >>> FLAG_BITS;
  if (flags & (FLAG.amount | FLAG.wideAmount)) low = bodies[end++] ?? 0;
  const high = flags & FLAG.wideAmount ? (bodies[end++] ?? 0) : 0;
  block[at + WORD.amount] = low;
  block[at + WORD.amount + 1] = high;
  reckonBalance(kind, low, high);
  if (flags & FLAG.balance) {
    reckoned[0] = bodies[end++] ?? 0;
    reckoned[1] = bodies[end++] ?? 0;
  }
  block[at + WORD.balance] = reckoned[0] ?? 0;
  block[at + WORD.balance + 1] = reckoned[1] ?? 0;
  if (flags & FLAG.round) {
    block[at + WORD.round] = bodies[end++] ?? 0;
    block[at + WORD.round + 1] = bodies[end++] ?? 0;
  } else if (flags & FLAG.roundOfBet) {
    block[at + WORD.round] = rows.get(bet, WORD.round);
    block[at + WORD.round + 1] = rows.get(bet, WORD.round + 1);
  }
  return end;
}

/** False for a key that is not among them; true for one that is, and, hardly ever, for another. */
export const mayHold = ({ firstWords }: PackedWrites, key: KeyWords): boolean =>
  firstWords.includes(key[0] ?? 0);

export const bytesOfPacked = ({ words }: PackedWrites): number => words.byteLength;

/** Little-endian, followed by other words; without any, those of the writes themselves. */
export function bytesOf({ words }: PackedWrites, others: Uint32Array): Uint8Array {
  if (others.length === 0) return new Uint8Array(words.buffer);
  const all = new Uint32Array(words.length + others.length);
  all.set(words);
  all.set(others, words.length);
  return new Uint8Array(all.buffer);
}

/** What `bytesOf` was given. Throws if the number of bytes does not fit. */
export function packedIn(
  bytes: Uint8Array,
  { size, bodyWords, otherWords }: Record<'size' | 'bodyWords' | 'otherWords', number>,
): { readonly packed: PackedWrites; readonly others: Uint32Array } {
  const length = size * WORDS_OF_KEY + bodyWords + WORDS_OF_BALANCE;
  assert.equal(bytes.length, (length + otherWords) * Uint32Array.BYTES_PER_ELEMENT);
  const split = length * Uint32Array.BYTES_PER_ELEMENT;
  return {
    packed: packedOf(size, wordsIn(bytes.subarray(0, split))),
    others: otherWords === 0 ? NO_WORDS : wordsIn(bytes.subarray(split)),
  };
}

/** A copy, since words begin at multiples of four bytes. */
function wordsIn(bytes: Uint8Array): Uint32Array {
  const words = new Uint32Array(bytes.length / Uint32Array.BYTES_PER_ELEMENT);
  new Uint8Array(words.buffer).set(bytes);
  return words;
}

/** How many words the bodies take. */
export const bodyWordsOf = ({ size, words }: PackedWrites): number =>
  words.length - size * WORDS_OF_KEY - WORDS_OF_BALANCE;
