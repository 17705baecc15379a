/** The chain by ordinals: what it has of some events, for whoever reads them and wants to know whether they are the same. */
import type { Queryable } from '@coffer/database';
import type { StreamEvent } from '@coffer/event-store';
import type { ChainEntry } from './blocks.ts';
import { readBlocksOver } from './blocksTable.ts';
import { entryHash, type Ordinal } from './chain.ts';

interface ChainedEntry extends ChainEntry {
  readonly ordinal: Ordinal;
  /** The hash of the entry before it. */
  readonly previous: Buffer;
}

/** By ordinal, those of the range that are chained. */
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

/** The hash that the event would have in the entry's place: that of the entry where it is the very one. */
const hashInPlaceOf = (
  { previous, ordinal }: Pick<ChainedEntry, 'previous' | 'ordinal'>,
  event: StreamEvent,
): Buffer => entryHash(previous, ordinal, event);

/** For holding events that are read anyway against the chain. */
export const chainOfLog = { entries: chainedEntries, hashInPlaceOf };
