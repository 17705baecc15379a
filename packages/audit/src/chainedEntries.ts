/**
 * The chain by ordinals: what it stores for some events, so that their readers can check that they are the
 * same.
 */
import type { Queryable } from '@coffer/database';
import type { StreamEvent } from '@coffer/event-store';
import type { ChainEntry } from './blocks.ts';
import { readBlocksOver } from './blocksTable.ts';
import { entryHash, type Ordinal } from './chain.ts';

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

/** For checking events against the chain when they are read anyway. */
export const chainOfLog = { entries: chainedEntries, hashInPlaceOf };
