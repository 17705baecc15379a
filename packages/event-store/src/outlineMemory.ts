/**
 * Memory for outlines that the garbage collector neither walks nor has to clear: each is kept in as many blocks as it takes.
 * As strings they would live just long enough to count as old, thousands a second.
 */
import assert from 'node:assert/strict';
import type { Outline } from '@coffer/kernel';

/** The first block of an outline. */
export type FirstBlock = number;

const BLOCK_BYTES = 128;
/** Behind the bytes of its blocks, a slab has for each of them the place of the next. */
const BYTES_OF_LINK = Uint32Array.BYTES_PER_ELEMENT;
/** Small enough to find room where evicted states were. */
const BLOCKS_PER_SLAB = 512;
/** How many bytes the facts take, and the marks. */
const BYTES_OF_HEADER = 8;
const NONE = 0xffff_ffff;

interface Slab {
  readonly bytes: Buffer;
  readonly next: Uint32Array;
}

/** What the outline takes here. */
export const bytesInBlocks = (outline: Outline): number => blocksFor(outline) * (BLOCK_BYTES + BYTES_OF_LINK);

const blocksFor = (outline: Outline): number => Math.ceil(lengthOf(outline) / BLOCK_BYTES);
const lengthOf = ({ facts, marks }: Outline): number =>
  BYTES_OF_HEADER + Buffer.byteLength(facts) + Buffer.byteLength(marks, 'utf16le');

export function createOutlineMemory() {
  const slabs: Slab[] = [];
  /** The first of the blocks that are free, each linked to the next. */
  let free = NONE;
  /** Where one is put together before it is divided, and the other way round. */
  let scratch = Buffer.alloc(BLOCK_BYTES);

  return {
    write(outline: Outline): FirstBlock {
      const length = lengthOf(outline);
      if (scratch.length < length) scratch = Buffer.alloc(2 * length);
      const factsBytes = scratch.write(outline.facts, BYTES_OF_HEADER);
      const marksAt = BYTES_OF_HEADER + factsBytes;
      scratch.writeUInt32LE(factsBytes);
      scratch.writeUInt32LE(scratch.write(outline.marks, marksAt, 'utf16le'), 4);
      let first = NONE;
      // From the last one on, so that each knows the next.
      for (let block = blocksFor(outline) - 1; block >= 0; block--) {
        const place = takeBlock();
        const from = block * BLOCK_BYTES;
        scratch.copy(slabOf(place).bytes, bytesAt(place), from, Math.min(length, from + BLOCK_BYTES));
        link(place, first);
        first = place;
      }
      return first;
    },

    read(first: FirstBlock): Outline {
      // What finds no room of the last block was never written.
      let length = 0;
      for (let place = first; place !== NONE; place = nextOf(place)) {
        slabOf(place).bytes.copy(scratch, length, bytesAt(place), bytesAt(place) + BLOCK_BYTES);
        length += BLOCK_BYTES;
      }
      const marksAt = BYTES_OF_HEADER + scratch.readUInt32LE();
      return {
        facts: scratch.toString('utf8', BYTES_OF_HEADER, marksAt),
        marks: scratch.toString('utf16le', marksAt, marksAt + scratch.readUInt32LE(4)),
      };
    },

    release(first: FirstBlock): void {
      let last = first;
      while (nextOf(last) !== NONE) last = nextOf(last);
      link(last, free);
      free = first;
    },

    clear(): void {
      slabs.length = 0;
      free = NONE;
    },
  };

  function takeBlock(): number {
    if (free === NONE) addSlab();
    const taken = free;
    free = nextOf(taken);
    return taken;
  }

  function addSlab(): void {
    const first = slabs.length * BLOCKS_PER_SLAB;
    const next = Uint32Array.from({ length: BLOCKS_PER_SLAB }, (_, block) => first + block + 1);
    next[BLOCKS_PER_SLAB - 1] = NONE;
    slabs.push({ bytes: Buffer.alloc(BLOCKS_PER_SLAB * BLOCK_BYTES), next });
    free = first;
  }

  function slabOf(place: number): Slab {
    const slab = slabs[Math.floor(place / BLOCKS_PER_SLAB)];
    assert(slab);
    return slab;
  }

  function nextOf(place: number): number {
    return slabOf(place).next[place % BLOCKS_PER_SLAB] ?? NONE;
  }

  function link(place: number, next: number): void {
    slabOf(place).next[place % BLOCKS_PER_SLAB] = next;
  }
}

const bytesAt = (place: number): number => (place % BLOCKS_PER_SLAB) * BLOCK_BYTES;
