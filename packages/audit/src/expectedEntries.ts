/**
 * The chain as a queue of what the log must hold next, read block by block; faults in a block are reported.
 */
import type { Position } from '@coffer/event-store';
import type { Block, ChainEntry, ChainHead } from './blocks.ts';
import { GENESIS, type Ordinal } from './chain.ts';

export interface Expected extends ChainEntry {
  readonly kind: 'entry';
  readonly ordinal: Ordinal;
  /**
   * The previous hash: as its block has it and, where two blocks disagree at their seam, also as the other
   * has it.
   */
  readonly previous: readonly Buffer[];
  /** Its position according to its block: given only for the last entry of a block. */
  readonly position: Position | undefined;
}

/** Ordinals that no block holds. */
export interface Unknown {
  readonly kind: 'unknown';
  readonly firstOrdinal: Ordinal;
  readonly lastOrdinal: Ordinal;
  /** The stored hashes around them. */
  readonly hashBefore: Buffer;
  readonly hashAfter: Buffer;
}

export interface ExpectedEntries {
  /** The entry this many places ahead; undefined beyond the end of the chain. Loads blocks as needed. */
  readonly load: (place: number) => Promise<Expected | Unknown | undefined>;
  /** The next entry, if it is loaded. */
  readonly next: () => Expected | Unknown | undefined;
  readonly remove: (place: number) => void;
  /** How many places ahead the event with this id is expected; -1 if it is not within the limit. */
  readonly find: (id: string, within: number) => Promise<number>;
}

export function expectedEntries(
  blocks: AsyncIterable<Block>,
  onBrokenBlock: (firstOrdinal: Ordinal, reason: string) => void,
  /** Where the blocks continue from; undefined for all of them. */
  after?: Pick<ChainHead, 'ordinal' | 'hash' | 'recordedUntilMs'>,
): ExpectedEntries {
  const source = blocks[Symbol.asyncIterator]();
  let queue: (Expected | Unknown)[] = [];
  /** Taken off the front but still in the array: shifting a long array for each event would be slow. */
  let taken = 0;
  let hash = after?.hash ?? GENESIS;
  let ordinal: Ordinal = after?.ordinal ?? 0;
  let recordedUntilMs = after?.recordedUntilMs ?? Number.MIN_SAFE_INTEGER;

  const next = () => queue[taken];
  const load = async (place: number) => {
    while (queue.length - taken <= place) {
      const { done, value: block } = await source.next();
      if (done) return undefined;
      append(block);
    }
    return queue[taken + place];
  };

  return {
    next,
    load,
    remove(place) {
      if (place === 0) taken += 1;
      else queue.splice(taken + place, 1);
    },
    async find(id, within) {
      for (let place = 0; place < within; place++) {
        const expected = queue[taken + place] ?? (await load(place));
        if (!expected) return -1;
        if (expected.kind === 'entry' && expected.id === id) return place;
      }
      return -1;
    },
  };

  function append(block: Block): void {
    queue = queue.slice(taken);
    taken = 0;
    // If the row contradicts itself, the ordinal that follows on is the likelier one.
    const byLast = block.lastOrdinal - block.entries.length + 1;
    const firstOrdinal = byLast === ordinal + 1 ? byLast : block.firstOrdinal;
    if (block.contradiction) onBrokenBlock(firstOrdinal, block.contradiction);

    if (firstOrdinal > ordinal + 1) {
      onBrokenBlock(ordinal + 1, `no block holds the ordinals ${ordinal + 1} to ${firstOrdinal - 1}`);
      queue.push({
        kind: 'unknown',
        firstOrdinal: ordinal + 1,
        lastOrdinal: firstOrdinal - 1,
        hashBefore: hash,
        hashAfter: block.hashBefore,
      });
      hash = block.hashBefore;
    } else if (firstOrdinal < ordinal + 1) {
      onBrokenBlock(firstOrdinal, 'it begins before the end of the block before it');
    } else if (!block.hashBefore.equals(hash)) {
      onBrokenBlock(firstOrdinal, 'it does not begin with the hash that the block before it ends with');
    }

    const latestMs = block.entries.reduce(
      (latest, { recordedAtMs }) => Math.max(latest, recordedAtMs),
      recordedUntilMs,
    );
    if (!block.contradiction && block.recordedUntilMs !== latestMs) {
      onBrokenBlock(firstOrdinal, 'its latest time is not that of its events and of those before');
    }
    recordedUntilMs = Math.max(latestMs, block.recordedUntilMs);

    block.entries.forEach((entry, index) => {
      const before = block.entries[index - 1]?.hash;
      const previous = before ? [before] : [block.hashBefore, hash];
      const position = index === block.entries.length - 1 ? block.lastPosition : undefined;
      queue.push({ kind: 'entry', ordinal: firstOrdinal + index, previous, position, ...entry });
    });
    ordinal = firstOrdinal + block.entries.length - 1;
    hash = block.hashAfter;
  }
}
