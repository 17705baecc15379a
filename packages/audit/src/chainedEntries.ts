/**
 * The chain by ordinals: what it stores for some events, so that their readers can check that they are the
 * same.
 */
import type { Queryable } from '@coffer/database';
import type { StreamEvent } from '@coffer/event-store';
import { type BlockHashes, readBlocksOver, readHashesOver } from './blocksTable.ts';
import { entryHash, HASH_BYTES, isEntryHash, isEntryHashIn, type Ordinal } from './chain.ts';
import type { ChainEntry } from './entryColumns.ts';

interface ChainedEntry extends ChainEntry {
  readonly ordinal: Ordinal;
  /** The hash of the previous entry. */
  readonly previous: Buffer;
}

async function chainedEntries(
  db: Queryable,
  first: Ordinal,
  last: Ordinal,
): Promise<ReadonlyMap<Ordinal, ChainedEntry>> {
  const found = new Map<Ordinal, ChainedEntry>();
  for (const { firstOrdinal, hashBefore, entries } of await readBlocksOver(db, first, last)) {
    entries.forEach((entry, index) => {
      const ordinal = firstOrdinal + index;
      const previous = entries[index - 1]?.hash ?? hashBefore;
      if (ordinal >= first && ordinal <= last) found.set(ordinal, { ...entry, ordinal, previous });
    });
  }
  return found;
}

/** The hash that the event would have in the entry's place: the entry's own hash if it is the same event. */
const hashInPlaceOf = (
  { previous, ordinal }: Pick<ChainedEntry, 'previous' | 'ordinal'>,
  event: StreamEvent,
): Buffer => entryHash(previous, ordinal, event);

/** Whether events of the range are those that were chained; without what else the chain has of them. */
async function comparison(
  db: Queryable,
  first: Ordinal,
  last: Ordinal,
): Promise<(ordinal: Ordinal, event: StreamEvent) => boolean> {
  const blocks = await readHashesOver(db, first, last);
  let at = 0;
  const indexIn = (block: BlockHashes, ordinal: Ordinal) => ordinal - block.firstOrdinal;
  const holds = (block: BlockHashes, ordinal: Ordinal) =>
    indexIn(block, ordinal) >= 0 && (indexIn(block, ordinal) + 1) * HASH_BYTES <= block.hashes.length;
  return (ordinal, event) => {
    let block = blocks[at];
    // Ordinals are asked for one after the other.
    while (block && !holds(block, ordinal)) {
      at += 1;
      block = blocks[at];
    }
    if (!block) {
      at = 0;
      return false;
    }
    const { hashBefore, hashes } = block;
    const index = indexIn(block, ordinal);
    return index === 0
      ? isEntryHash(hashes.subarray(0, HASH_BYTES), hashBefore, ordinal, event)
      : isEntryHashIn(hashes, index, ordinal, event);
  };
}

/** For checking events against the chain when they are read anyway. */
export const chainOfLog = { entries: chainedEntries, comparison, hashInPlaceOf };
