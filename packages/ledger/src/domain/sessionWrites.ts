/**
 * What a play session remembers of its writes: what the rules need of each, as numbers in a row of an index instead of an
 * object, some 55 bytes in all. Versions share their rows. The newest version is extended in place; an older one is
 * copied first. So a version never changes, whatever is decided on another one.
 */
import assert from 'node:assert/strict';
import { KEY_AND_NEXT, KeyIndex, keyWordsOf } from '@coffer/kernel';
import type { BetContent, RollbackContent, WinContent } from './playSession.resource.ts';

type WriteKind = 'bet' | 'win' | 'rollback' | 'rememberedRollback' | 'settle';

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
  /** By `transactionUuid`, with the words of `WORD`. */
  readonly rows: KeyIndex;
  /** Bets whose rollback came first, with the place of that rollback; undefined until there is one. */
  remembered: KeyIndex | undefined;
  /** By place: figures of more than 64 bits; undefined until there is one. */
  large: Map<number, Pick<Write, 'amount' | 'balance'>> | undefined;
}

/** The words of a row; those of two words are said by their first. */
const WORD = {
  amount: 0,
  balance: 2,
  /** Half of the round's key; both words are 0 if there is none. */
  round: 4,
  /**
   * The kind in the first three bits. Then for a win or rollback the place of its bet, for a bet the place of what decided
   * it: counted from 1, 0 for none.
   */
  kindAndOther: 6,
} as const;
const WORDS = 7;
const KIND_SHIFT = 29;
const OTHER_MASK = 2 ** KIND_SHIFT - 1;

const KINDS: readonly WriteKind[] = ['bet', 'win', 'rollback', 'rememberedRollback', 'settle'];
const MOST_IN_64_BITS = 2n ** 64n - 1n;
/** Of the objects that hold the rows together; measured. */
const BYTES_OF_SHARED = 1_000;
const BYTES_OF_LARGE = 200;

const noRows = (expected = 0): Shared => ({
  rows: new KeyIndex(WORDS, expected),
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
  const place = shared.rows.find(keyWordsOf(transactionUuid));
  return place < 0 || place >= size ? undefined : place;
}

/** Undefined beyond the last write. */
export function writeAt(writes: SessionWrites, place: number): Write | undefined {
  const { shared, size } = writes;
  if (place >= size) return undefined;
  const { amount, balance } = shared.large?.get(place) ?? {
    amount: figureAt(shared, place, WORD.amount),
    balance: figureAt(shared, place, WORD.balance),
  };
  return { kind: kindAt(shared, place), place, amount, balance, fate: fateAt(writes, place) };
}

const kindAt = ({ rows }: Shared, place: number): WriteKind =>
  KINDS[rows.get(place, WORD.kindAndOther) >>> KIND_SHIFT] ?? 'bet';

const otherAt = ({ rows }: Shared, place: number): number => rows.get(place, WORD.kindAndOther) & OTHER_MASK;

/** One figure, as a number of 64 bits and as two words. */
const figure = new BigUint64Array(1);
const figureWords = new Uint32Array(figure.buffer);

function figureAt({ rows }: Shared, place: number, word: number): bigint {
  figureWords[0] = rows.get(place, word);
  figureWords[1] = rows.get(place, word + 1);
  return figure[0] ?? 0n;
}

/** What does not fit is kept whole in `large`. */
function setFigure({ rows }: Shared, place: number, word: number, value: bigint): void {
  figure[0] = value;
  rows.set(place, word, figureWords[0] ?? 0);
  rows.set(place, word + 1, figureWords[1] ?? 0);
}

/** An earlier version does not know what a later one has decided about a bet. */
function fateAt({ size, shared }: SessionWrites, place: number): Write['fate'] {
  const decidedAt = otherAt(shared, place) - 1;
  if (kindAt(shared, place) !== 'bet' || decidedAt < 0 || decidedAt >= size) return 'open';
  return kindAt(shared, decidedAt) === 'win' ? 'won' : 'rolledBack';
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

function isOfRound({ shared: { rows } }: SessionWrites, { place }: Write, roundId: string | undefined) {
  const [first, second] = [rows.get(place, WORD.round), rows.get(place, WORD.round + 1)];
  if (roundId === undefined) return second === 0;
  const key = keyWordsOf(roundId);
  return first === firstHalf(key) && second === secondHalf(key);
}

function isOnBetNamed(writes: SessionWrites, { kind, place }: Write, betTransactionUuid: string): boolean {
  if (kind === 'rememberedRollback') return rememberedAt(writes.shared, betTransactionUuid) === place;
  return placeOf(writes, betTransactionUuid) === otherAt(writes.shared, place) - 1;
}

function rememberedAt({ remembered }: Shared, betTransactionUuid: string): number | undefined {
  const at = remembered?.find(keyWordsOf(betTransactionUuid)) ?? -1;
  return at < 0 ? undefined : remembered?.get(at, 0);
}

/** Two of the four words are enough to tell rounds apart under the same uuid. */
const firstHalf = (key: Uint32Array): number => ((key[0] ?? 0) ^ (key[2] ?? 0)) >>> 0;
/** Never 0, which means no round. */
const secondHalf = (key: Uint32Array): number => (((key[1] ?? 0) ^ (key[3] ?? 0)) | 1) >>> 0;

/** Whether the rollback of a bet came before the bet. */
export function isRemembered({ size, shared }: SessionWrites, betTransactionUuid: string): boolean {
  const place = rememberedAt(shared, betTransactionUuid);
  return place !== undefined && place < size;
}

/** The version with one more write. Asserts that its uuid is new and that any bet it refers to exists. */
export function withWrite(before: SessionWrites, write: NewWrite): SessionWrites {
  assert(placeOf(before, write.transactionUuid) === undefined, 'a transactionUuid is used once');
  const { size: place } = before;
  const shared = place === before.shared.rows.size ? before.shared : copyOf(before);
  const { kind, amount, balance, roundId, betTransactionUuid } = write;
  // Everything that can throw comes before anything is written.
  const bet = betTransactionUuid === undefined ? -1 : betOf(shared, kind, betTransactionUuid);
  shared.rows.add(keyWordsOf(write.transactionUuid));
  setKindAndOther(shared, place, KINDS.indexOf(kind), bet);
  setFigure(shared, place, WORD.amount, amount);
  setFigure(shared, place, WORD.balance, balance);
  if (amount > MOST_IN_64_BITS || balance > MOST_IN_64_BITS) {
    shared.large ??= new Map();
    shared.large.set(place, { amount, balance });
  }
  if (roundId !== undefined) setRound(shared, place, keyWordsOf(roundId));
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
  const bet = shared.rows.find(keyWordsOf(betTransactionUuid));
  assert(bet >= 0 && kindAt(shared, bet) === 'bet', `${betTransactionUuid} is not a bet`);
  return bet;
}

/** A bet keeps its first win, or its rollback. */
function setKindAndOther(shared: Shared, place: number, kind: number, bet: number): void {
  const { rows } = shared;
  rows.set(place, WORD.kindAndOther, (kind << KIND_SHIFT) | (bet + 1));
  if (bet >= 0 && otherAt(shared, bet) === 0) {
    rows.set(bet, WORD.kindAndOther, (BET << KIND_SHIFT) | (place + 1));
  }
}

function setRound({ rows }: Shared, place: number, key: Uint32Array): void {
  rows.set(place, WORD.round, firstHalf(key));
  rows.set(place, WORD.round + 1, secondHalf(key));
}

function remember(shared: Shared, betKey: Uint32Array, place: number, from = 0): void {
  shared.remembered ??= new KeyIndex(1);
  shared.remembered.add(betKey, from);
  shared.remembered.set(shared.remembered.size - 1, 0, place);
}

/** Without what others have added or decided. */
const copyOf = (writes: SessionWrites): Shared => decodeWrites(encodeWrites(writes)).shared;

export function bytesOfWrites({ shared: { rows, remembered, large } }: SessionWrites): number {
  return BYTES_OF_SHARED + rows.bytes + (remembered?.bytes ?? 0) + (large?.size ?? 0) * BYTES_OF_LARGE;
}

/** One version for a snapshot. */
export interface EncodedWrites {
  readonly size: number;
  /** How many bets were rolled back before they came. */
  readonly rememberedBets: number;
  readonly large: readonly Pick<Write, 'place' | 'amount' | 'balance'>[];
  /**
   * Words, little-endian: for each write its key, a word that begins with its kind and the flags, and what the flags name;
   * then the keys of the remembered bets. What decided a bet is not among them: the first write on it did.
   */
  readonly bytes: Uint8Array;
}

const WORDS_OF_KEY = 4;
/** Key, kind and flags, and two words each for amount, balance and round. */
const MOST_WORDS_OF_WRITE = WORDS_OF_KEY + 1 + 6;
const KIND_BITS = 0b111;
const FLAG = {
  /** The amount has a word, or two. Otherwise, it follows the flags, or is 0 where the place of a bet follows them. */
  amount: 8,
  wideAmount: 16,
  /** The balance is not what kind and amount make of the one before. */
  balance: 32,
  round: 64,
  /** The round is that of the bet. */
  roundOfBet: 128,
} as const;
const FLAG_BITS = 8;
const MOST_AFTER_FLAGS = 2 ** (32 - FLAG_BITS) - 1;

export function encodeWrites({ size, shared }: SessionWrites): EncodedWrites {
  const { rows, remembered, large } = shared;
  const words = new Uint32Array(size * MOST_WORDS_OF_WRITE + (remembered?.size ?? 0) * WORDS_OF_KEY);
  let end = 0;
  for (let place = 0; place < size; place++) end = encodeRow(rows, place, words, end);
  let rememberedBets = 0;
  for (let at = 0; remembered && at < remembered.size; at++) {
    if (remembered.get(at, 0) >= size) continue;
    rememberedBets += 1;
    remembered.copyKey(at, words, end);
    end += WORDS_OF_KEY;
  }
  return {
    size,
    rememberedBets,
    large: [...(large ?? [])].flatMap(([place, figures]) => (place < size ? [{ place, ...figures }] : [])),
    bytes: new Uint8Array(words.buffer, 0, end * BYTES_OF_WORD),
  };
}

/** Returns where it ends. Rows are read without a call for each word: a long session is encoded while requests wait. */
function encodeRow(rows: KeyIndex, place: number, words: Uint32Array, start: number): number {
  rows.copyKey(place, words, start);
  let end = start + WORDS_OF_KEY + 1;
  const block = rows.blockOf(place);
  const at = rows.rowAt(place) + KEY_AND_NEXT;
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
    words[end++] = low;
    if (high !== 0) words[end++] = high;
  }
  assert(afterFlags <= MOST_AFTER_FLAGS);
  reckonBalance(rows, place, kind, low, high);
  const balanceLow = block[at + WORD.balance] ?? 0;
  const balanceHigh = block[at + WORD.balance + 1] ?? 0;
  if (balanceLow !== figureWords[0] || balanceHigh !== figureWords[1]) {
    flags |= FLAG.balance;
    words[end++] = balanceLow;
    words[end++] = balanceHigh;
  }
  const round = block[at + WORD.round] ?? 0;
  const roundToo = block[at + WORD.round + 1] ?? 0;
  if (roundToo !== 0) {
    const isOfBet =
      bet >= 0 && round === rows.get(bet, WORD.round) && roundToo === rows.get(bet, WORD.round + 1);
    flags |= isOfBet ? FLAG.roundOfBet : FLAG.round;
    if (!isOfBet) {
      words[end++] = round;
      words[end++] = roundToo;
    }
  }
  words[start + WORDS_OF_KEY] = flags | (afterFlags << FLAG_BITS);
  return end;
}

const isOnBet = (kind: number): boolean => kind === WIN || kind === ROLLBACK;
const BET = KINDS.indexOf('bet');
const WIN = KINDS.indexOf('win');
const ROLLBACK = KINDS.indexOf('rollback');
const REMEMBERED = KINDS.indexOf('rememberedRollback');

/**
 * Into `figureWords`, the balance that the write usually leaves: without a carry, which few writes have and which is then
 * told as any other balance.
 */
function reckonBalance(rows: KeyIndex, place: number, kind: number, low: number, high: number): void {
  const sign = kind === BET ? -1 : isOnBet(kind) ? 1 : 0;
  figureWords[0] = (place === 0 ? 0 : rows.get(place - 1, WORD.balance)) + sign * low;
  figureWords[1] = (place === 0 ? 0 : rows.get(place - 1, WORD.balance + 1)) + sign * high;
}

/** Throws if the number of bytes does not fit. */
export function decodeWrites({ size, rememberedBets, large, bytes }: EncodedWrites): SessionWrites {
  const words = new Uint32Array(bytes.length / BYTES_OF_WORD);
  new Uint8Array(words.buffer).set(bytes);
  const shared = noRows(size + 1);
  const { rows } = shared;
  const remembering: number[] = [];
  let end = 0;
  for (let place = 0; place < size; place++) {
    assert(end < words.length);
    end = decodeRow(shared, place, words, end);
    if (rows.get(place, WORD.kindAndOther) >>> KIND_SHIFT === REMEMBERED) remembering.push(place);
  }
  assert.equal(words.length, end + rememberedBets * WORDS_OF_KEY);
  for (let at = 0; at < rememberedBets; at++, end += WORDS_OF_KEY) {
    const place = remembering[at];
    assert(place !== undefined);
    remember(shared, words, place, end);
  }
  if (large.length > 0) {
    shared.large = new Map(large.map(({ place, amount, balance }) => [place, { amount, balance }]));
  }
  return { size, shared };
}

/** Returns where it ends. */
function decodeRow(shared: Shared, place: number, words: Uint32Array, start: number): number {
  const { rows } = shared;
  rows.add(words, start);
  let end = start + WORDS_OF_KEY;
  const flags = words[end++] ?? 0;
  const kind = flags & KIND_BITS;
  const bet = isOnBet(kind) ? (flags >>> FLAG_BITS) - 1 : -1;
  setKindAndOther(shared, place, kind, bet);
  const block = rows.blockOf(place);
  const at = rows.rowAt(place) + KEY_AND_NEXT;
  let low = isOnBet(kind) ? 0 : flags >>> FLAG_BITS;
  if (flags & (FLAG.amount | FLAG.wideAmount)) low = words[end++] ?? 0;
  const high = flags & FLAG.wideAmount ? (words[end++] ?? 0) : 0;
  block[at + WORD.amount] = low;
  block[at + WORD.amount + 1] = high;
  reckonBalance(rows, place, kind, low, high);
  block[at + WORD.balance] = (flags & FLAG.balance ? words[end++] : figureWords[0]) ?? 0;
  block[at + WORD.balance + 1] = (flags & FLAG.balance ? words[end++] : figureWords[1]) ?? 0;
  if (flags & FLAG.round) {
    block[at + WORD.round] = words[end++] ?? 0;
    block[at + WORD.round + 1] = words[end++] ?? 0;
  } else if (flags & FLAG.roundOfBet) {
    block[at + WORD.round] = rows.get(bet, WORD.round);
    block[at + WORD.round + 1] = rows.get(bet, WORD.round + 1);
  }
  return end;
}

const BYTES_OF_WORD = 4;
