/**
 * The stakes of a pool, as words in a row of an index and bytes of text instead of objects: some 120 bytes each, of which
 * the garbage collector walks none. Versions share their rows. The newest version is extended in place; an older one is
 * copied first. So a version never changes, whatever is decided on another one.
 */
import assert from 'node:assert/strict';
import { KeyIndex, keyWordsOf } from '@coffer/kernel';

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

/** One version: what the first `changes` changes made of the rows that it shares with others. */
export interface Stakes {
  readonly count: number;
  /** Every lock, confirmation and release is one. */
  readonly changes: number;
  readonly shared: Shared;
}

interface Shared {
  /** Changes made to these rows, by the newest version. */
  changes: number;
  /** By `betId`, with the words of `WORD`. */
  readonly rows: KeyIndex;
  /** Bet and user of each stake, one after the other. */
  texts: Buffer;
}

/** The words of a row; those of two words are said by their first. */
const WORD = {
  amount: 0,
  /** Milliseconds since 1970. */
  lockedAt: 2,
  confirmBy: 4,
  /** The number of the change that confirmed the stake, and that released it; 0 for none. */
  confirmed: 6,
  released: 7,
  /** Where its bet and its user end in the texts. */
  betEnd: 8,
  userEnd: 9,
} as const;
const WORDS = 10;

const TWO_TO_32 = 2 ** 32;
const LEAST_TEXT_BYTES = 256;
/** Of the objects that hold rows and texts together. */
const BYTES_OF_SHARED = 600;

export const noStakes = (): Stakes => ({
  count: 0,
  changes: 0,
  shared: { changes: 0, rows: new KeyIndex(WORDS), texts: Buffer.alloc(LEAST_TEXT_BYTES) },
});

/** The number of the stake of a bet; undefined if there is none. */
export function stakeOf({ count, shared }: Stakes, betId: string): number | undefined {
  const place = shared.rows.find(keyWordsOf(betId));
  return place < 0 || place >= count ? undefined : place + 1;
}

export function stakeAt(stakes: Stakes, stake: number): Stake {
  const { rows } = stakes.shared;
  return {
    stake,
    betId: betIdAt(stakes, stake),
    userId: userIdAt(stakes, stake),
    amount: amountAt(stakes, stake),
    standing: standingAt(stakes, stake),
    lockedAt: new Date(timeAt(rows, stake, WORD.lockedAt)).toISOString(),
    confirmBy: new Date(timeAt(rows, stake, WORD.confirmBy)).toISOString(),
  };
}

export function betIdAt({ shared: { rows, texts } }: Stakes, stake: number): string {
  return texts.toString('latin1', textsBefore(rows, stake), rows.get(stake - 1, WORD.betEnd));
}

export function userIdAt({ shared: { rows, texts } }: Stakes, stake: number): string {
  return texts.toString('latin1', rows.get(stake - 1, WORD.betEnd), rows.get(stake - 1, WORD.userEnd));
}

/** Where the texts of a stake begin. */
const textsBefore = (rows: KeyIndex, stake: number): number =>
  stake === 1 ? 0 : rows.get(stake - 2, WORD.userEnd);

export const amountAt = ({ shared: { rows } }: Stakes, stake: number): bigint =>
  rows.getFigure(stake - 1, WORD.amount);

const timeAt = (rows: KeyIndex, stake: number, word: number): number =>
  rows.get(stake - 1, word) + rows.get(stake - 1, word + 1) * TWO_TO_32;

function setTime(rows: KeyIndex, place: number, word: number, time: number): void {
  rows.set(place, word, time % TWO_TO_32);
  rows.set(place, word + 1, Math.floor(time / TWO_TO_32));
}

/** An earlier version does not know what later changes did to a stake. */
export function standingAt({ changes, shared: { rows } }: Stakes, stake: number): StakeStanding {
  const isMarked = (change: number) => change > 0 && change <= changes;
  if (isMarked(rows.get(stake - 1, WORD.released))) return 'released';
  return isMarked(rows.get(stake - 1, WORD.confirmed)) ? 'confirmed' : 'locked';
}

/** Whether a stake that is not confirmed may be released: `at` is in milliseconds since 1970. */
export function isOverdueAt({ shared: { rows } }: Stakes, stake: number, at: number, olderThanMs: number) {
  return at >= timeAt(rows, stake, WORD.confirmBy) && at - timeAt(rows, stake, WORD.lockedAt) >= olderThanMs;
}

/** The version with one more stake. Asserts that its bet is new. */
export function withStake(before: Stakes, { betId, userId, amount, lockedAt, confirmBy }: NewStake): Stakes {
  assert(stakeOf(before, betId) === undefined, 'a bet has one stake');
  const { count: place } = before;
  const shared = nextOf(before);
  const { rows } = shared;
  const start = textsBefore(rows, place + 1);
  const betEnd = start + betId.length;
  const userEnd = betEnd + userId.length;
  makeRoom(shared, userEnd);
  shared.texts.write(betId, start, 'latin1');
  shared.texts.write(userId, betEnd, 'latin1');
  rows.add(keyWordsOf(betId));
  rows.setFigure(place, WORD.amount, amount);
  setTime(rows, place, WORD.lockedAt, Date.parse(lockedAt));
  setTime(rows, place, WORD.confirmBy, Date.parse(confirmBy));
  rows.set(place, WORD.betEnd, betEnd);
  rows.set(place, WORD.userEnd, userEnd);
  return { count: place + 1, changes: shared.changes, shared };
}

export function withConfirmed(before: Stakes, stake: number): Stakes {
  assert(standingAt(before, stake) === 'locked', 'a stake is confirmed once, while it is locked');
  return marked(before, stake, WORD.confirmed);
}

export function withReleased(before: Stakes, stake: number): Stakes {
  assert(standingAt(before, stake) === 'locked', 'a stake is released once, while it is locked');
  return marked(before, stake, WORD.released);
}

function marked(before: Stakes, stake: number, word: number): Stakes {
  assert(stake >= 1 && stake <= before.count, 'the stake is in the pool');
  const shared = nextOf(before);
  shared.rows.set(stake - 1, word, shared.changes);
  return { count: before.count, changes: shared.changes, shared };
}

/** The rows in which the next change may be made: those of the version itself if it is the newest. */
function nextOf(before: Stakes): Shared {
  const { shared } = before.changes === before.shared.changes ? before : decodeStakes(encodeStakes(before));
  shared.changes += 1;
  return shared;
}

/** By an eighth: room that is not used costs memory, and copying is cheap. */
function makeRoom(shared: Shared, textBytes: number): void {
  if (textBytes <= shared.texts.length) return;
  const texts = Buffer.alloc(textBytes + Math.max(LEAST_TEXT_BYTES, textBytes >> 3));
  texts.set(shared.texts);
  shared.texts = texts;
}

export function bytesOfStakes({ shared: { rows, texts } }: Stakes): number {
  return BYTES_OF_SHARED + rows.bytes + texts.length;
}

/** One version for a snapshot: its rows as words, little-endian, and then its texts. */
export interface EncodedStakes {
  readonly count: number;
  readonly changes: number;
  readonly bytes: Uint8Array;
}

const WORDS_OF_KEY = 4;
const WORDS_OF_STAKE = WORDS_OF_KEY + WORDS;
const BYTES_OF_STAKE = 4 * WORDS_OF_STAKE;

export function encodeStakes({ count, changes, shared: { rows, texts } }: Stakes): EncodedStakes {
  const words = rows.encode(count);
  // Later changes are not of this version.
  for (let at = WORDS_OF_KEY; at < words.length; at += WORDS_OF_STAKE) {
    for (const word of [at + WORD.confirmed, at + WORD.released]) {
      if ((words[word] ?? 0) > changes) words[word] = 0;
    }
  }
  const ofVersion = texts.subarray(0, textsBefore(rows, count + 1));
  return { count, changes, bytes: Buffer.concat([new Uint8Array(words.buffer), ofVersion]) };
}

/** Throws if the number of bytes does not fit. */
export function decodeStakes({ count, changes, bytes }: EncodedStakes): Stakes {
  const textBytes = bytes.length - count * BYTES_OF_STAKE;
  assert(textBytes >= 0, 'the rows are complete');
  const words = new Uint32Array(count * WORDS_OF_STAKE);
  new Uint8Array(words.buffer).set(bytes.subarray(0, words.byteLength));
  const rows = KeyIndex.decode(words, WORDS);
  assert.equal(textsBefore(rows, count + 1), textBytes);
  const texts = Buffer.alloc(textBytes + LEAST_TEXT_BYTES);
  texts.set(bytes.subarray(words.byteLength));
  return { count, changes, shared: { changes, rows, texts } };
}
