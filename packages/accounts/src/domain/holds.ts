/**
 * The holds of an account, open and closed, as words in a row of an index instead of objects: some 50 bytes each, of which
 * the garbage collector walks none. Versions share their rows. The newest version is extended in place; an older one is
 * copied first. So a version never changes, whatever is decided on another one. What a hold is for is in the event that
 * opened it.
 */
import assert from 'node:assert/strict';
import { KeyIndex, keyWordsOf, MAX_AMOUNT } from '@coffer/kernel';
import type { HoldId } from './accountIds.ts';

export interface OpenHold {
  /** Base units. */
  readonly amount: bigint;
  readonly heldAtRevision: number;
}

/** Open until it has a payout. */
export interface Hold extends OpenHold {
  readonly payout: bigint | undefined;
}

/** One version: what the first `changes` changes made of the rows that it shares with others. */
export interface Holds {
  readonly count: number;
  /** Opening a hold is one, and so is closing it. */
  readonly changes: number;
  /** Undefined until there is a hold. */
  readonly shared: Shared | undefined;
}

interface Shared {
  /** Changes made to these rows, by the newest version. */
  changes: number;
  /** By hold id, with the words of `WORD`. */
  readonly rows: KeyIndex;
  /** Payouts of more than 64 bits, by place. */
  readonly large: Map<number, bigint>;
}

/** The words of a row; those of two words are said by their first. */
const WORD = {
  amount: 0,
  payout: 2,
  heldAtRevision: 4,
  /** The number of the change that closed it; 0 for none. */
  closed: 5,
} as const;
const WORDS = 6;

/** Of the objects that hold the rows together. */
const BYTES_OF_SHARED = 400;
const BYTES_OF_LARGE = 100;

export const noHolds: Holds = { count: 0, changes: 0, shared: undefined };

/** Undefined for an id under which nothing was ever held. */
export function holdUnder(holds: Holds, holdId: HoldId): Hold | undefined {
  const place = placeOf(holds, holdId);
  if (place < 0 || !holds.shared) return undefined;
  const { rows, large } = holds.shared;
  const closed = rows.get(place, WORD.closed);
  const isClosed = closed > 0 && closed <= holds.changes;
  return {
    amount: rows.getFigure(place, WORD.amount),
    heldAtRevision: rows.get(place, WORD.heldAtRevision),
    payout: isClosed ? (large.get(place) ?? rows.getFigure(place, WORD.payout)) : undefined,
  };
}

/** Counted from 0; -1 if there is none. */
function placeOf({ count, shared }: Holds, holdId: HoldId): number {
  const place = shared?.rows.find(keyWordsOf(holdId)) ?? -1;
  return place < count ? place : -1;
}

/** The version with one more hold. Asserts that its id is new. */
export function withHold(before: Holds, holdId: HoldId, { amount, heldAtRevision }: OpenHold): Holds {
  assert(placeOf(before, holdId) < 0, 'a hold is opened once');
  assert(amount <= MAX_AMOUNT);
  const { count: place } = before;
  const shared = nextOf(before);
  shared.rows.add(keyWordsOf(holdId));
  shared.rows.setFigure(place, WORD.amount, amount);
  shared.rows.set(place, WORD.heldAtRevision, heldAtRevision);
  return { count: place + 1, changes: shared.changes, shared };
}

/** The version in which the hold is closed. Asserts that it is open. */
export function withClosed(before: Holds, holdId: HoldId, payout: bigint): Holds {
  const hold = holdUnder(before, holdId);
  assert(hold && hold.payout === undefined, 'a hold is closed once');
  const place = placeOf(before, holdId);
  const shared = nextOf(before);
  shared.rows.setFigure(place, WORD.payout, payout);
  if (payout > MAX_AMOUNT) shared.large.set(place, payout);
  shared.rows.set(place, WORD.closed, shared.changes);
  return { count: before.count, changes: shared.changes, shared };
}

/** The rows in which the next change may be made: those of the version itself if it is the newest. */
function nextOf(before: Holds): Shared {
  const isNewest = before.changes === before.shared?.changes;
  const shared = (isNewest ? before.shared : decodeHolds(encodeHolds(before)).shared) ?? {
    changes: 0,
    rows: new KeyIndex(WORDS),
    large: new Map(),
  };
  shared.changes += 1;
  return shared;
}

export function bytesOfHolds({ shared }: Holds): number {
  return shared ? BYTES_OF_SHARED + shared.rows.bytes + shared.large.size * BYTES_OF_LARGE : 0;
}

/** One version for a snapshot. */
export interface EncodedHolds {
  readonly count: number;
  readonly changes: number;
  readonly large: readonly { readonly place: number; readonly payout: bigint }[];
  /** The rows as words, little-endian. */
  readonly bytes: Uint8Array;
}

const WORDS_OF_KEY = 4;
const WORDS_OF_HOLD = WORDS_OF_KEY + WORDS;

export function encodeHolds({ count, changes, shared }: Holds): EncodedHolds {
  if (!shared) return { count, changes, large: [], bytes: new Uint8Array() };
  const words = shared.rows.encode(count);
  const isClosed = (place: number) => words[place * WORDS_OF_HOLD + WORDS_OF_KEY + WORD.closed] !== 0;
  for (let at = WORDS_OF_KEY; at < words.length; at += WORDS_OF_HOLD) {
    // A later change is not of this version.
    if ((words[at + WORD.closed] ?? 0) > changes) words[at + WORD.closed] = 0;
  }
  const large = Array.from(shared.large, ([place, payout]) => ({ place, payout }));
  return {
    count,
    changes,
    large: large.filter(({ place }) => place < count && isClosed(place)),
    bytes: new Uint8Array(words.buffer),
  };
}

/** Throws if the number of bytes does not fit. */
export function decodeHolds({ count, changes, large, bytes }: EncodedHolds): Holds {
  const words = new Uint32Array(count * WORDS_OF_HOLD);
  assert.equal(bytes.length, words.byteLength, 'the rows are complete');
  if (count === 0) return noHolds;
  new Uint8Array(words.buffer).set(bytes);
  const rows = KeyIndex.decode(words, WORDS);
  const payouts = new Map(large.map(({ place, payout }) => [place, payout] as const));
  return { count, changes, shared: { changes, rows, large: payouts } };
}
