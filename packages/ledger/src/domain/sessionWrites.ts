/**
 * What a play session remembers of its writes: what the rules need of each, as numbers in columns instead of an object,
 * some 60 bytes with its share of the index. Versions share their columns. The newest version is extended in place; an
 * older one is copied first. So a version never changes, whatever is decided on another one.
 */
import assert from 'node:assert/strict';
import { grownCapacity, KeyIndex, keyWordsOf } from '@coffer/kernel';
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

/** One version: the first `size` of the writes in columns that it shares with others. */
export interface SessionWrites {
  readonly size: number;
  readonly columns: Columns;
}

interface Columns {
  readonly uuids: KeyIndex;
  /** Bets whose rollback came first; undefined until there is one. */
  remembered: { readonly bets: KeyIndex; readonly places: number[] } | undefined;
  kinds: Uint8Array;
  amounts: BigUint64Array;
  balances: BigUint64Array;
  /** Two words of the round's key; both 0 if there is none. */
  rounds: Uint32Array;
  /**
   * For a win or rollback, the place of its bet; for a bet, the place of what decided it; counted from 1, 0 for none.
   */
  others: Uint32Array;
  /** By place: figures of more than 64 bits. */
  readonly large: Map<number, Pick<Write, 'amount' | 'balance'>>;
}

const KINDS: readonly WriteKind[] = ['bet', 'win', 'rollback', 'rememberedRollback', 'settle'];
const MOST_IN_64_BITS = 2n ** 64n - 1n;
/** Of the arrays themselves, without what is in them; measured. */
const BYTES_OF_COLUMNS = 3_000;
const BYTES_OF_LARGE = 200;

export function noWrites(): SessionWrites {
  return { size: 0, columns: columnsFor(new KeyIndex(), 8) };
}

function columnsFor(uuids: KeyIndex, capacity: number): Columns {
  return {
    uuids,
    remembered: undefined,
    kinds: new Uint8Array(capacity),
    amounts: new BigUint64Array(capacity),
    balances: new BigUint64Array(capacity),
    rounds: new Uint32Array(2 * capacity),
    others: new Uint32Array(capacity),
    large: new Map(),
  };
}

/** The write under a uuid; undefined if there is none. */
export function writeUnder(writes: SessionWrites, transactionUuid: string): Write | undefined {
  const place = placeOf(writes, transactionUuid);
  return place === undefined ? undefined : writeAt(writes, place);
}

function placeOf({ size, columns }: SessionWrites, transactionUuid: string): number | undefined {
  const place = columns.uuids.find(keyWordsOf(transactionUuid));
  return place < 0 || place >= size ? undefined : place;
}

/** Undefined beyond the last write. */
export function writeAt(writes: SessionWrites, place: number): Write | undefined {
  const { columns, size } = writes;
  if (place >= size) return undefined;
  const { amount, balance } = columns.large.get(place) ?? {
    amount: columns.amounts[place] ?? 0n,
    balance: columns.balances[place] ?? 0n,
  };
  return { kind: kindAt(columns, place), place, amount, balance, fate: fateAt(writes, place) };
}

const kindAt = ({ kinds }: Columns, place: number): WriteKind => KINDS[kinds[place] ?? 0] ?? 'bet';

/** An earlier version does not know what a later one has decided about a bet. */
function fateAt({ size, columns }: SessionWrites, place: number): Write['fate'] {
  const decidedAt = (columns.others[place] ?? 0) - 1;
  if (kindAt(columns, place) !== 'bet' || decidedAt < 0 || decidedAt >= size) return 'open';
  return kindAt(columns, decidedAt) === 'win' ? 'won' : 'rolledBack';
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
  betTransactionUuid: (uuid) => isOnBet(writes, write, uuid),
});

function isOfRound({ columns: { rounds } }: SessionWrites, { place }: Write, roundId: string | undefined) {
  const [first, second] = [rounds[2 * place], rounds[2 * place + 1]];
  if (roundId === undefined) return second === 0;
  const key = keyWordsOf(roundId);
  return first === firstHalf(key) && second === secondHalf(key);
}

function isOnBet(writes: SessionWrites, { kind, place }: Write, betTransactionUuid: string): boolean {
  const { remembered, others } = writes.columns;
  if (kind !== 'rememberedRollback') return placeOf(writes, betTransactionUuid) === (others[place] ?? 0) - 1;
  const at = remembered?.bets.find(keyWordsOf(betTransactionUuid)) ?? -1;
  return remembered?.places[at] === place;
}

/** Two of the four words are enough to tell rounds apart under the same uuid. */
const firstHalf = (key: Uint32Array): number => ((key[0] ?? 0) ^ (key[2] ?? 0)) >>> 0;
/** Never 0, which means no round. */
const secondHalf = (key: Uint32Array): number => (((key[1] ?? 0) ^ (key[3] ?? 0)) | 1) >>> 0;

/** Whether the rollback of a bet came before the bet. */
export function isRemembered({ size, columns }: SessionWrites, betTransactionUuid: string): boolean {
  const { remembered } = columns;
  if (!remembered) return false;
  const at = remembered.bets.find(keyWordsOf(betTransactionUuid));
  const place = remembered.places[at];
  return place !== undefined && place < size;
}

/** The version with one more write. Asserts that its uuid is new and that any bet it refers to exists. */
export function withWrite(before: SessionWrites, write: NewWrite): SessionWrites {
  assert(placeOf(before, write.transactionUuid) === undefined, 'a transactionUuid is used once');
  const { size: place } = before;
  const columns = place === before.columns.uuids.size ? before.columns : copyOf(before);
  makeRoom(columns, place + 1);
  const { kind, amount, balance, roundId, betTransactionUuid } = write;
  columns.kinds[place] = KINDS.indexOf(kind);
  const round = roundId === undefined ? undefined : keyWordsOf(roundId);
  columns.rounds[2 * place] = round ? firstHalf(round) : 0;
  columns.rounds[2 * place + 1] = round ? secondHalf(round) : 0;
  columns.others[place] = 0;
  // What does not fit is kept whole in `large`.
  columns.amounts[place] = BigInt.asUintN(64, amount);
  columns.balances[place] = BigInt.asUintN(64, balance);
  if (amount > MOST_IN_64_BITS || balance > MOST_IN_64_BITS) columns.large.set(place, { amount, balance });
  else columns.large.delete(place);
  if (betTransactionUuid !== undefined) {
    if (kind === 'rememberedRollback') remember(columns, betTransactionUuid, place);
    else decide(columns, betTransactionUuid, place);
  }
  columns.uuids.add(keyWordsOf(write.transactionUuid));
  return { size: place + 1, columns };
}

/** A bet keeps its first win, or its rollback. */
function decide(columns: Columns, betTransactionUuid: string, place: number): void {
  const bet = columns.uuids.find(keyWordsOf(betTransactionUuid));
  assert(bet >= 0 && kindAt(columns, bet) === 'bet', `${betTransactionUuid} is not a bet`);
  columns.others[place] = bet + 1;
  if (columns.others[bet] === 0) columns.others[bet] = place + 1;
}

function remember(columns: Columns, betTransactionUuid: string, place: number): void {
  columns.remembered ??= { bets: new KeyIndex(), places: [] };
  const { bets, places } = columns.remembered;
  const key = keyWordsOf(betTransactionUuid);
  assert(bets.find(key) < 0, 'a rollback is remembered once');
  bets.add(key);
  places.push(place);
}

function makeRoom(columns: Columns, size: number): void {
  if (size <= columns.kinds.length) return;
  const capacity = grownCapacity(columns.kinds.length);
  const grown = columnsFor(columns.uuids, capacity);
  grown.kinds.set(columns.kinds);
  grown.amounts.set(columns.amounts);
  grown.balances.set(columns.balances);
  grown.rounds.set(columns.rounds);
  grown.others.set(columns.others);
  const { kinds, amounts, balances, rounds, others } = grown;
  Object.assign(columns, { kinds, amounts, balances, rounds, others });
}

/** Without what others have added or decided. */
const copyOf = (writes: SessionWrites): Columns => decodeWrites(encodeWrites(writes)).columns;

export function bytesOfWrites({ columns }: SessionWrites): number {
  const { uuids, remembered, kinds, amounts, balances, rounds, others, large } = columns;
  return [kinds, amounts, balances, rounds, others, uuids, ...(remembered ? [remembered.bets] : [])].reduce(
    (bytes, column) => bytes + ('bytes' in column ? column.bytes : column.byteLength),
    BYTES_OF_COLUMNS + large.size * BYTES_OF_LARGE + (remembered?.places.length ?? 0) * 8,
  );
}

/** One version for a snapshot: its columns as bytes, little-endian, one after the other. */
export interface EncodedWrites {
  readonly size: number;
  /** How many bets were rolled back before they came. */
  readonly rememberedBets: number;
  readonly large: readonly Pick<Write, 'place' | 'amount' | 'balance'>[];
  readonly bytes: Uint8Array;
}

export function encodeWrites({ size, columns }: SessionWrites): EncodedWrites {
  const { uuids, remembered, kinds, amounts, balances, rounds, others, large } = columns;
  const rememberedBets = remembered?.places.filter((place) => place < size).length ?? 0;
  const bytes = new Uint8Array(size * BYTES_OF_WRITE + rememberedBets * BYTES_OF_KEY);
  let end = 0;
  for (const column of [
    uuids.encode(size),
    kinds.subarray(0, size),
    bytesOf(amounts.subarray(0, size)),
    bytesOf(balances.subarray(0, size)),
    bytesOf(rounds.subarray(0, 2 * size)),
    bytesOf(others.slice(0, size).map((other) => (other > size ? 0 : other))),
    remembered?.bets.encode(rememberedBets) ?? new Uint8Array(),
  ]) {
    bytes.set(column, end);
    end += column.length;
  }
  return {
    size,
    rememberedBets,
    large: [...large].flatMap(([place, figures]) => (place < size ? [{ place, ...figures }] : [])),
    bytes,
  };
}

const BYTES_OF_KEY = 16;
const BYTES_OF_WRITE = BYTES_OF_KEY + 1 + 8 + 8 + 8 + 4;

/** Throws if the number of bytes does not fit. */
export function decodeWrites({ size, rememberedBets, large, bytes }: EncodedWrites): SessionWrites {
  assert.equal(bytes.length, size * BYTES_OF_WRITE + rememberedBets * BYTES_OF_KEY);
  let end = 0;
  const next = (length: number): Uint8Array => {
    end += length;
    return bytes.subarray(end - length, end);
  };
  const columns = columnsFor(KeyIndex.decode(next(size * BYTES_OF_KEY)), size + 1);
  columns.kinds.set(next(size));
  for (const column of [columns.amounts, columns.balances]) bytesOf(column).set(next(size * 8));
  bytesOf(columns.rounds).set(next(size * 8));
  bytesOf(columns.others).set(next(size * 4));
  for (const { place, amount, balance } of large) columns.large.set(place, { amount, balance });
  if (rememberedBets > 0) {
    const remembered = KINDS.indexOf('rememberedRollback');
    const places = [...columns.kinds.subarray(0, size).keys()].filter(
      (place) => columns.kinds[place] === remembered,
    );
    columns.remembered = { bets: KeyIndex.decode(next(rememberedBets * BYTES_OF_KEY)), places };
  }
  return { size, columns };
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Uint32Array | BigUint64Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);
