/**
 * The chain as a queue of what the log must hold next, read block by block; faults in a block are reported.
 */
import assert from 'node:assert/strict';
import type { Position, RecordedEvent } from '@coffer/event-store';
import type { Block, ChainHead } from './blocks.ts';
import { GENESIS, type Ordinal } from './chain.ts';
import { type ChainEntry, type EntryColumns, entryIn, hashIn, isEntryOf, latestIn } from './entryColumns.ts';

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

/** An entry that was the expected one to the last detail. */
export type TakenEntry = Pick<Expected, 'ordinal' | 'id' | 'recordedAtMs'>;

export interface ExpectedEntries {
  /**
   * Takes the next entry, if its event is this one, recorded at the time that the chain has. False says nothing: an entry at
   * the seam of two blocks, or that is looked at already, is not compared here.
   */
  readonly takeSame: (event: RecordedEvent) => TakenEntry | undefined;
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
  /** Up to here the log was carried from another store, and only the chain has its recorded times. */
  carriedUntil: Ordinal,
  /** Where the blocks continue from; undefined for all of them. */
  after?: Pick<ChainHead, 'ordinal' | 'hash' | 'recordedUntilMs'>,
): ExpectedEntries {
  const source = blocks[Symbol.asyncIterator]();
  let queue: (Expected | Unknown)[] = [];
  /** Taken off the front but still in the array: shifting a long array for each event would be slow. */
  let taken = 0;
  /** Behind the queue: the block whose entries are made one by one, as they are asked for. */
  let open: OpenBlock | undefined;
  let hash = after?.hash ?? GENESIS;
  let ordinal: Ordinal = after?.ordinal ?? 0;
  let recordedUntilMs = after?.recordedUntilMs ?? Number.MIN_SAFE_INTEGER;

  const load = async (place: number) => {
    while (queue.length - taken <= place) {
      if (makeNext()) continue;
      const { done, value: block } = await source.next();
      if (done) return undefined;
      append(block);
    }
    return queue[taken + place];
  };

  return {
    next() {
      if (queue.length === taken) makeNext();
      return queue[taken];
    },
    load,
    takeSame(event) {
      if (!open || queue.length > taken) return undefined;
      const { columns, firstOrdinal, index } = open;
      // The first has two possible hashes before it, the last also a position.
      if (!columns || index === 0 || index + 1 >= open.count) return undefined;
      const ordinal = firstOrdinal + index;
      if (!isEntryOf(columns, index, event, ordinal)) return undefined;
      const recordedAtMs = event.recordedAt.getTime();
      if (ordinal > carriedUntil && columns.recordedMs[index] !== recordedAtMs) return undefined;
      open.index += 1;
      return { ordinal, id: event.id, recordedAtMs: columns.recordedMs[index] ?? recordedAtMs };
    },
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

  /** False if there is no open block. */
  function makeNext(): boolean {
    if (!open) return false;
    const { block, columns, firstOrdinal, index, count } = open;
    const previous = previousOf(open);
    const entry = columns ? entryIn(columns, index) : block.entries[index];
    assert(entry, 'a block has as many entries as it counts');
    const position = index === count - 1 ? block.lastPosition : undefined;
    queue.push({ kind: 'entry', ordinal: firstOrdinal + index, previous, position, ...entry });
    open.index += 1;
    if (open.index === count) open = undefined;
    return true;
  }

  function append(block: Block): void {
    queue = queue.slice(taken);
    taken = 0;
    const { columns } = block;
    const count = columns?.count ?? block.entries.length;
    // If the row contradicts itself, the ordinal that follows on is the likelier one.
    const byLast = block.lastOrdinal - count + 1;
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

    const latestMs = columns
      ? latestIn(columns, recordedUntilMs)
      : block.entries.reduce((latest, { recordedAtMs }) => Math.max(latest, recordedAtMs), recordedUntilMs);
    if (!block.contradiction && block.recordedUntilMs !== latestMs) {
      onBrokenBlock(firstOrdinal, 'its latest time is not that of its events and of those before');
    }
    recordedUntilMs = Math.max(latestMs, block.recordedUntilMs);

    const before = [block.hashBefore, hash];
    open = count > 0 ? { block, columns, firstOrdinal, before, count, index: 0 } : undefined;
    ordinal = firstOrdinal + count - 1;
    hash = block.hashAfter;
  }
}

interface OpenBlock {
  readonly block: Block;
  readonly columns: EntryColumns | undefined;
  readonly firstOrdinal: Ordinal;
  /** The hash before its first entry, as it has it and as the block before has it. */
  readonly before: readonly Buffer[];
  readonly count: number;
  /** The next entry. */
  index: number;
}

function previousOf({ block, columns, before, index }: OpenBlock): readonly Buffer[] {
  if (index === 0) return before;
  const hash = columns ? hashIn(columns, index - 1) : block.entries[index - 1]?.hash;
  return hash ? [hash] : before;
}
