/** The entries of a block, and as it is stored: a list for each of their fields. Nearly all are compared without being made. */
import type { RecordedEvent } from '@coffer/event-store';
import { HASH_BYTES, idIn, isEntryHashIn, isIdIn, type Ordinal } from './chain.ts';

/** What the chain keeps for one event. */
export interface ChainEntry {
  readonly id: string;
  readonly stream: string;
  readonly revision: number;
  /** When the store recorded it, in milliseconds since 1970. */
  readonly recordedAtMs: number;
  readonly hash: Buffer;
}

export interface EntryColumns {
  readonly count: number;
  /** One behind the other, in hexadecimal. */
  readonly ids: string;
  readonly hashes: Buffer;
  readonly streams: readonly string[];
  readonly revisions: readonly number[];
  readonly recordedMs: readonly number[];
}

export const entryIn = (columns: EntryColumns, index: number): ChainEntry => ({
  id: idIn(columns.ids, index),
  hash: hashIn(columns, index),
  stream: columns.streams[index] ?? '',
  revision: Number(columns.revisions[index]),
  recordedAtMs: Number(columns.recordedMs[index]),
});

export const hashIn = ({ hashes }: EntryColumns, index: number): Buffer =>
  hashes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES);

/** The latest recorded time among them, and until then. */
export function latestIn({ count, recordedMs }: EntryColumns, untilMs: number): number {
  let latestMs = untilMs;
  for (let index = 0; index < count; index++) latestMs = Math.max(latestMs, Number(recordedMs[index]));
  return latestMs;
}

/** Whether the event is the one of this entry, which is not the first, and what its block says of it agrees. */
export function isEntryOf(
  columns: EntryColumns,
  index: number,
  event: RecordedEvent,
  ordinal: Ordinal,
): boolean {
  return (
    columns.streams[index] === event.stream &&
    columns.revisions[index] === event.revision &&
    isIdIn(columns.ids, index, event.id) &&
    isEntryHashIn(columns.hashes, index, ordinal, event)
  );
}
