/** The stored chain: blocks of entries, each with what is needed to name and date its event. */
import assert from 'node:assert/strict';
import type { LogPlace, Position, RecordedEvent } from '@coffer/event-store';
import { entryHash, GENESIS, type Ordinal } from './chain.ts';
import type { ChainEntry, EntryColumns } from './entryColumns.ts';

export const MAX_BLOCK_EVENTS = 1_000;

/** The end of the chain. */
export interface ChainHead {
  readonly ordinal: Ordinal;
  readonly hash: Buffer;
  /** Place of the last event, in the store that holds the log. */
  readonly place: LogPlace;
  /** The latest recorded time up to here, in milliseconds since 1970. */
  readonly recordedUntilMs: number;
}

export interface Block {
  readonly firstOrdinal: Ordinal;
  readonly lastOrdinal: Ordinal;
  readonly hashBefore: Buffer;
  readonly hashAfter: Buffer;
  readonly lastPosition: Position;
  readonly recordedUntilMs: number;
  readonly entries: readonly ChainEntry[];
  /** The same as they are stored, if they are. */
  readonly columns?: EntryColumns;
  /** How the row contradicts itself; undefined for every block that we wrote. */
  readonly contradiction: string | undefined;
}

/** The blocks that extend the chain from a head (undefined: from the beginning) with these events. */
export function blocksOf(head: ChainHead | undefined, events: readonly RecordedEvent[]): readonly Block[] {
  const blocks: Block[] = [];
  let before = head;
  for (let start = 0; start < events.length; start += MAX_BLOCK_EVENTS) {
    const chunk = events.slice(start, start + MAX_BLOCK_EVENTS);
    const last = chunk.at(-1);
    if (!last) break;
    let hash = before?.hash ?? GENESIS;
    let ordinal = before?.ordinal ?? 0;
    const entries = chunk.map((event): ChainEntry => {
      ordinal += 1;
      hash = entryHash(hash, ordinal, event);
      const { id, stream, revision, recordedAt } = event;
      return { id, stream, revision, recordedAtMs: recordedAt.getTime(), hash };
    });
    const block = blockOf(before, entries, last.position);
    blocks.push(block);
    before = headAfter(block);
  }
  return blocks;
}

/** The block of at least one entry whose last event is at the position. */
export function blockOf(
  before: ChainHead | undefined,
  entries: readonly ChainEntry[],
  lastPosition: Position,
): Block {
  const hashBefore = before?.hash ?? GENESIS;
  const ordinal = before?.ordinal ?? 0;
  return {
    firstOrdinal: ordinal + 1,
    lastOrdinal: ordinal + entries.length,
    hashBefore,
    hashAfter: entries.at(-1)?.hash ?? hashBefore,
    lastPosition,
    recordedUntilMs: entries.reduce(
      (latestMs, { recordedAtMs }) => Math.max(latestMs, recordedAtMs),
      before?.recordedUntilMs ?? Number.MIN_SAFE_INTEGER,
    ),
    entries,
    contradiction: undefined,
  };
}

/** The end of a chain that ends with the block. */
export function headAfter(block: Block): ChainHead {
  const last = block.entries.at(-1);
  assert(last, 'a block has at least one entry');
  return {
    ordinal: block.lastOrdinal,
    hash: block.hashAfter,
    place: { position: block.lastPosition, eventId: last.id },
    recordedUntilMs: block.recordedUntilMs,
  };
}

/** How many of the block's events precede the first one recorded later than the time. */
export function recordedBy({ entries }: Block, timeMs: number): number {
  const later = entries.findIndex(({ recordedAtMs }) => recordedAtMs > timeMs);
  return later < 0 ? entries.length : later;
}
