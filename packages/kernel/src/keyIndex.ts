/**
 * Texts that callers choose, found again by the 128 bits that stand for them, with a few words about each: in blocks of
 * memory that the garbage collector does not walk.
 */
import { hash, randomInt } from 'node:crypto';

/** Four words of 32 bits. */
export type KeyWords = Uint32Array;

const WORDS = 4;

/** Differs from process to process, so that nobody can choose texts that all meet in one slot. */
const SEED = randomInt(2 ** 32);

const scratch = new Uint32Array(WORDS);
/** Whose words these are. */
let scratchText: string | undefined;

/** The first half of its SHA-256, also of a UUID: that takes no longer than to read one. The next call overwrites the words. */
export function keyWordsOf(text: string): KeyWords {
  // A decider looks for a key and then adds it.
  if (text === scratchText) return scratch;
  scratchText = text;
  // Of one byte a character: a buffer takes four times as long.
  const digest = hash('sha256', text, 'binary');
  for (let word = 0; word < WORDS; word++) scratch[word] = wordAt(digest, word * 4);
  return scratch;
}

/** Little-endian. */
const wordAt = (bytes: string, at: number): number =>
  bytes.charCodeAt(at) |
  (bytes.charCodeAt(at + 1) << 8) |
  (bytes.charCodeAt(at + 2) << 16) |
  (bytes.charCodeAt(at + 3) << 24);

/** Rows of a block, and half as many buckets. */
const BLOCK_SHIFT = 6;
const BLOCK_ROWS = 1 << BLOCK_SHIFT;
const ROWS_PER_BUCKET = 2;
const BUCKETS_SHIFT = BLOCK_SHIFT - 1;
const BLOCK_BUCKETS = 1 << BUCKETS_SHIFT;
/** The first block begins with 5, 6, 7 or 8 rows and is doubled three times. */
const LEAST_ROWS = 5;
const FIRST_SIZES = 4;
const DOUBLED_UP_TO = BLOCK_ROWS / 2;
const NEXT = WORDS;
/** The words of a row that are not the caller's. */
export const KEY_AND_NEXT = WORDS + 1;

/**
 * Keys in the order in which they were added, each with some words that the caller may set. A class, since there is one
 * for each of very many streams.
 *
 * Each block holds rows and then its share of the buckets: a bucket is the place of one row, counted from 1, and each row
 * has the place of the next. With every other row the index has one more bucket, into which one of the older ones is divided
 * (linear hashing): nothing is ever twice as large as it need be, and no row takes much longer than another, which would be
 * felt where many indexes grow in step. For the same reason their first key decides which of four sizes the first block has, so that
 * not all of them need another block at once.
 */
export class KeyIndex {
  readonly #rowWords: number;
  readonly #expected: number;
  #size = 0;
  /** Rows by which the first block is smaller than the others. Places are counted as if it had them. */
  #missing = 0;
  #blocks: readonly Uint32Array[] = [];
  #buckets = 1;
  /** Of the least power of two that is not below the number of buckets. */
  #mask = 0;

  /** With so many words for each key. With the first key it takes room for as many as are expected. */
  constructor(words = 0, expected = 0) {
    this.#rowWords = KEY_AND_NEXT + words;
    this.#expected = expected;
  }

  /** From what `encode` gave, with as many words for each key, and room for one more. */
  static decode(encoded: Uint32Array, words: number): KeyIndex {
    const encodedWords = WORDS + words;
    const index = new KeyIndex(words, encoded.length / encodedWords + 1);
    for (let at = 0, place = 0; at < encoded.length; at += encodedWords, place++) {
      index.add(encoded, at);
      const given = encoded.subarray(at + WORDS, at + encodedWords);
      index.blockOf(place).set(given, index.rowAt(place) + KEY_AND_NEXT);
    }
    return index;
  }

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    const room = this.#room;
    const words = room * this.#rowWords + bucketsOf(room);
    return words * Uint32Array.BYTES_PER_ELEMENT + this.#blocks.length * BYTES_OF_BLOCK;
  }

  /** Where the key was added, counted from 0; -1 for a key that was not. */
  find(key: KeyWords): number {
    if (this.#size === 0) return -1;
    let place = this.#headOf(this.#bucketOf(key, 0)) - 1;
    while (place >= 0) {
      const block = this.blockOf(place);
      const at = this.rowAt(place);
      if (
        block[at] === key[0] &&
        block[at + 1] === key[1] &&
        block[at + 2] === key[2] &&
        block[at + 3] === key[3]
      ) {
        return place;
      }
      place = (block[at + NEXT] ?? 0) - 1;
    }
    return -1;
  }

  /**
   * The key is the four words from there on; the words that are added with it are 0. The caller has made sure that the
   * key is not there yet.
   */
  add(key: KeyWords, from = 0): void {
    if (this.#size === this.#room) this.#grow(key[from] ?? 0);
    const place = this.#size;
    this.#size += 1;
    if (this.#size > this.#buckets * ROWS_PER_BUCKET) this.#addBucket();
    const block = this.blockOf(place);
    const at = this.rowAt(place);
    block[at] = key[from] ?? 0;
    block[at + 1] = key[from + 1] ?? 0;
    block[at + 2] = key[from + 2] ?? 0;
    block[at + 3] = key[from + 3] ?? 0;
    this.#link(place);
  }

  get(place: number, word: number): number {
    return this.blockOf(place)[this.rowAt(place) + KEY_AND_NEXT + word] ?? 0;
  }

  set(place: number, word: number, value: number): void {
    this.blockOf(place)[this.rowAt(place) + KEY_AND_NEXT + word] = value;
  }

  /** A number below 2^64 in two words. */
  getFigure(place: number, word: number): bigint {
    const block = this.blockOf(place);
    const at = this.rowAt(place) + KEY_AND_NEXT + word;
    figureWords[0] = block[at] ?? 0;
    figureWords[1] = block[at + 1] ?? 0;
    return figure[0] ?? 0n;
  }

  /** Of a larger number the lowest 64 bits are kept. */
  setFigure(place: number, word: number, value: bigint): void {
    figure[0] = value;
    const block = this.blockOf(place);
    const at = this.rowAt(place) + KEY_AND_NEXT + word;
    block[at] = figureWords[0] ?? 0;
    block[at + 1] = figureWords[1] ?? 0;
  }

  /** What holds a row, until the next key is added: its key from `rowAt` on, its words from `KEY_AND_NEXT` behind. */
  blockOf(place: number): Uint32Array {
    return this.#blocks[(place + this.#missing) >> BLOCK_SHIFT] ?? NO_BLOCK;
  }

  rowAt(place: number): number {
    // From the last row of a block to the first: so those that are missing in the first block are not at its beginning.
    return (~(place + this.#missing) & (BLOCK_ROWS - 1)) * this.#rowWords;
  }

  /** The keys from one place up to another, each with its words. */
  encode(end = this.#size, from = 0): Uint32Array {
    const words = this.#rowWords - KEY_AND_NEXT;
    const encoded = new Uint32Array((end - from) * (WORDS + words));
    for (let place = from, to = 0; place < end; place++, to += WORDS + words) {
      this.copyKey(place, encoded, to);
      const at = this.rowAt(place) + KEY_AND_NEXT;
      encoded.set(this.blockOf(place).subarray(at, at + words), to + WORDS);
    }
    return encoded;
  }

  /** Into the four words from there on. */
  copyKey(place: number, words: Uint32Array, to: number): void {
    const block = this.blockOf(place);
    const at = this.rowAt(place);
    words[to] = block[at] ?? 0;
    words[to + 1] = block[at + 1] ?? 0;
    words[to + 2] = block[at + 2] ?? 0;
    words[to + 3] = block[at + 3] ?? 0;
  }

  /** Rows that there is a place for. */
  get #room(): number {
    return this.#blocks.length * BLOCK_ROWS - this.#missing;
  }

  #newBlock(rows: number): Uint32Array {
    return new Uint32Array(rows * this.#rowWords + bucketsOf(rows));
  }

  #headOf(bucket: number): number {
    const at = bucket + (this.#missing >> 1);
    const block = this.#blocks[at >> BUCKETS_SHIFT] ?? NO_BLOCK;
    return block[headAt(block, at)] ?? 0;
  }

  #setHead(bucket: number, head: number): void {
    const at = bucket + (this.#missing >> 1);
    const block = this.#blocks[at >> BUCKETS_SHIFT] ?? NO_BLOCK;
    block[headAt(block, at)] = head;
  }

  #bucketOf(words: Uint32Array, from: number): number {
    const hash = hashOf(words, from);
    const bucket = hash & this.#mask;
    return bucket < this.#buckets ? bucket : hash & (this.#mask >>> 1);
  }

  #link(place: number): void {
    const block = this.blockOf(place);
    const at = this.rowAt(place);
    const bucket = this.#bucketOf(block, at);
    block[at + NEXT] = this.#headOf(bucket);
    this.#setHead(bucket, place + 1);
  }

  #grow(firstWord: number): void {
    const [first] = this.#blocks;
    if (!first) this.#begin(LEAST_ROWS + (firstWord % FIRST_SIZES));
    else if (this.#room <= DOUBLED_UP_TO) this.#double(first);
    else this.#blocks = [...this.#blocks, this.#newBlock(BLOCK_ROWS)];
  }

  /** With all the blocks that are expected. */
  #begin(leastRows: number): void {
    let rows = leastRows;
    while (rows < this.#expected && rows <= DOUBLED_UP_TO) rows *= 2;
    const others = Math.max(0, Math.ceil((this.#expected - rows) / BLOCK_ROWS));
    this.#setBlocks(
      rows,
      Array.from({ length: others }, () => this.#newBlock(BLOCK_ROWS)),
    );
  }

  #double(first: Uint32Array): void {
    const rows = this.#room;
    const doubled = this.#setBlocks(rows * 2, []);
    doubled.set(first.subarray(0, rows * this.#rowWords), rows * this.#rowWords);
    for (let place = 0; place < rows; place++) this.#link(place);
  }

  /** Returns the first. */
  #setBlocks(firstRows: number, others: readonly Uint32Array[]): Uint32Array {
    const first = this.#newBlock(firstRows);
    this.#blocks = [first, ...others];
    this.#missing = BLOCK_ROWS - firstRows;
    this.#setBuckets(bucketsOf(this.#room));
    return first;
  }

  #setBuckets(buckets: number): void {
    this.#buckets = buckets;
    this.#mask = 2 ** (32 - Math.clz32(buckets - 1)) - 1;
  }

  /** Puts each row of the bucket from which it takes where it belongs now. */
  #addBucket(): void {
    this.#setBuckets(this.#buckets + 1);
    const bucket = (this.#buckets - 1) & (this.#mask >>> 1);
    let place = this.#headOf(bucket) - 1;
    this.#setHead(bucket, 0);
    while (place >= 0) {
      const next = (this.blockOf(place)[this.rowAt(place) + NEXT] ?? 0) - 1;
      this.#link(place);
      place = next;
    }
  }
}

/** One figure, as a number of 64 bits and as two words. */
const figure = new BigUint64Array(1);
const figureWords = new Uint32Array(figure.buffer);

/** Of the array itself, without its rows; measured. */
const BYTES_OF_BLOCK = 450;
const NO_BLOCK = new Uint32Array();

const bucketsOf = (rows: number): number => Math.ceil(rows / ROWS_PER_BUCKET);

/** Heads are at the end of a block, the last one last. */
const headAt = (block: Uint32Array, at: number): number =>
  block.length - BLOCK_BUCKETS + (at & (BLOCK_BUCKETS - 1));

/** The mixing step of MurmurHash3, over the four words from there on. */
function hashOf(words: Uint32Array, from: number): number {
  let hash = mixed(SEED, words[from] ?? 0);
  hash = mixed(hash, words[from + 1] ?? 0);
  hash = mixed(hash, words[from + 2] ?? 0);
  hash = mixed(hash, words[from + 3] ?? 0);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return hash ^ (hash >>> 15);
}

function mixed(hash: number, word: number): number {
  const first = Math.imul(hash ^ word, 0xcc9e2d51);
  const second = Math.imul((first << 15) | (first >>> 17), 0x1b873593);
  return second ^ (second >>> 13);
}
