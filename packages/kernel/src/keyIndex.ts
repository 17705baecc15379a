/**
 * Texts that callers choose, found again by the 128 bits that stand for them: 24 to 32 bytes a text, in memory that the
 * garbage collector does not walk.
 */
import { createHash, randomInt } from 'node:crypto';

/** Four words of 32 bits. */
export type KeyWords = Uint32Array;

const WORDS = 4;
const UUID_LENGTH = 36;
const BYTES = 16;

/** Differs from process to process, so that nobody can choose texts that all meet in one slot. */
const SEED = randomInt(2 ** 32);

const scratch = new Uint32Array(WORDS);

/**
 * A UUID in its canonical form is its own key; any other text has the first half of its SHA-256. The words are
 * overwritten by the next call.
 */
export function keyWordsOf(text: string): KeyWords {
  if (text.length === UUID_LENGTH && readUuid(text)) return scratch;
  const hash = createHash('sha256').update(text).digest();
  for (let word = 0; word < WORDS; word++) scratch[word] = hash.readUInt32LE(word * 4);
  return scratch;
}

/** False for what is no UUID in lower case: two spellings of one UUID are two texts. */
function readUuid(text: string): boolean {
  let digits = 0;
  let word = 0;
  for (let index = 0; index < UUID_LENGTH; index++) {
    const code = text.charCodeAt(index);
    if (index === 8 || index === 13 || index === 18 || index === 23) {
      if (code !== 45) return false;
      continue;
    }
    let digit = code - 48;
    if (digit < 0) return false;
    if (digit > 9) {
      digit = code - 87;
      if (digit < 10 || digit > 15) return false;
    }
    word = (word << 4) | digit;
    digits += 1;
    if (digits % 8 === 0) {
      scratch[digits / 8 - 1] = word;
      word = 0;
    }
  }
  return true;
}

const LEAST_CAPACITY = 8;
/** Slots are filled up to three quarters. */
const MOST_FILLED = 0.75;

/** Keys in the order in which they were added. A class, since there is one for each of very many streams. */
export class KeyIndex {
  #size = 0;
  #keys = new Uint32Array(LEAST_CAPACITY * WORDS);
  /** Places counted from 1; 0 is an empty slot. */
  #slots = new Uint32Array(LEAST_CAPACITY);

  /** From what `encode` gave. */
  static decode(encoded: Uint8Array): KeyIndex {
    const index = new KeyIndex();
    index.#size = encoded.length / BYTES;
    index.#keys = new Uint32Array(Math.max(LEAST_CAPACITY, index.#size) * WORDS);
    new Uint8Array(index.#keys.buffer).set(encoded);
    index.#fillSlots();
    return index;
  }

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#keys.byteLength + this.#slots.byteLength;
  }

  /** Where the key was added, counted from 0; -1 for a key that was not. */
  find(key: KeyWords): number {
    const slots = this.#slots;
    for (let slot = firstSlot(key, 0, slots); ; slot = (slot + 1) & (slots.length - 1)) {
      const place = (slots[slot] ?? 0) - 1;
      if (place < 0 || this.isAt(place, key)) return place;
    }
  }

  isAt(place: number, key: KeyWords): boolean {
    const keys = this.#keys;
    const from = place * WORDS;
    return (
      keys[from] === key[0] &&
      keys[from + 1] === key[1] &&
      keys[from + 2] === key[2] &&
      keys[from + 3] === key[3]
    );
  }

  /** The caller has made sure that the key is not there yet. */
  add(key: KeyWords): void {
    if ((this.#size + 1) * WORDS > this.#keys.length) {
      const grown = new Uint32Array(grownCapacity(this.#size) * WORDS);
      grown.set(this.#keys);
      this.#keys = grown;
    }
    this.#keys.set(key, this.#size * WORDS);
    this.#size += 1;
    if (this.#size > this.#slots.length * MOST_FILLED) this.#fillSlots();
    else this.#fillSlot(this.#size - 1);
  }

  /** The bytes of the first so many keys. */
  encode(size = this.#size): Uint8Array {
    return new Uint8Array(this.#keys.buffer, 0, size * BYTES);
  }

  #fillSlots(): void {
    let count = this.#slots.length;
    while (this.#size > count * MOST_FILLED) count *= 2;
    this.#slots = new Uint32Array(count);
    for (let place = 0; place < this.#size; place++) this.#fillSlot(place);
  }

  #fillSlot(place: number): void {
    const slots = this.#slots;
    let slot = firstSlot(this.#keys, place * WORDS, slots);
    while (slots[slot] !== 0) slot = (slot + 1) & (slots.length - 1);
    slots[slot] = place + 1;
  }
}

/** By an eighth: room that is not used costs memory in every index, and copying is cheap. */
export const grownCapacity = (size: number): number => size + Math.max(LEAST_CAPACITY, size >> 3);

/** The mixing step of MurmurHash3, over the four words from there on. */
function firstSlot(words: Uint32Array, from: number, slots: Uint32Array): number {
  let hash = SEED;
  for (let index = from; index < from + WORDS; index++) {
    hash = Math.imul(hash ^ (words[index] ?? 0), 0xcc9e2d51);
    hash = Math.imul((hash << 15) | (hash >>> 17), 0x1b873593);
    hash ^= hash >>> 13;
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 15)) & (slots.length - 1);
}
