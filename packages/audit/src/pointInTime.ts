/**
 * Places of the log by time. A store's clock may go back, so that the recorded times of events are not in
 * order; their running maximum is, and by it a time names one place: behind the last event before which, and
 * with which, nothing was recorded later.
 */
import assert from 'node:assert/strict';
import type { Queryable } from '@coffer/database';
import type { EventStore, Position } from '@coffer/event-store';
import { recordedBy } from './blocks.ts';
import { lastBlockWhere, readBlockAt } from './blocksTable.ts';
import type { Ordinal } from './chain.ts';

export interface PointInTime {
  /** How many events had been recorded. */
  readonly ordinal: Ordinal;
  /** Of the last of them; undefined before everything. */
  readonly position: Position | undefined;
}

export interface PointsInTime {
  readonly pointAt: (time: Date) => Promise<PointInTime>;
  readonly ordinalAt: (time: Date) => Promise<Ordinal>;
  /** The position of the last event recorded by the time; undefined before everything. */
  readonly positionAt: (time: Date) => Promise<Position | undefined>;
  /** How many events stand up to the position; all of them for one beyond the end. */
  readonly ordinalOf: (position: Position) => Promise<Ordinal>;
}

/** By the chain's blocks, and behind the last of them by the log itself. */
export function createPointsInTime(
  db: Queryable,
  store: Pick<EventStore, 'readAll' | 'comparePositions'>,
): PointsInTime {
  const pointAt = async (time: Date): Promise<PointInTime> => {
    const timeMs = time.getTime();
    const { before, block } = await readBlockAt(db, timeMs);
    // The time is not exceeded before the block, so it is by the first event of it that is later.
    const start = { ordinal: before?.ordinal ?? 0, position: before?.place.position };
    return block ? withinBlock(start, recordedBy(block, timeMs)) : behindBlocks(start, timeMs);
  };

  /** So many events on from the start. */
  const withinBlock = async (start: PointInTime, count: number): Promise<PointInTime> => {
    if (count === 0) return start;
    let position: Position | undefined;
    for await (const page of store.readAll({ ...after(start), limit: count })) {
      position = page.at(-1)?.position;
    }
    assert(position, 'the log holds what is chained');
    return { ordinal: start.ordinal + count, position };
  };

  const behindBlocks = async (start: PointInTime, timeMs: number): Promise<PointInTime> => {
    let point = start;
    for await (const page of store.readAll(after(start))) {
      for (const { position, recordedAt } of page) {
        if (recordedAt.getTime() > timeMs) return point;
        point = { ordinal: point.ordinal + 1, position };
      }
    }
    return point;
  };

  const ordinalOf = async (position: Position): Promise<Ordinal> => {
    const isUpTo = (candidate: Position) => store.comparePositions(candidate, position) <= 0;
    const before = await lastBlockWhere(db, (head) => isUpTo(head.place.position));
    let ordinal = before?.ordinal ?? 0;
    for await (const page of store.readAll(before ? { from: before.place.position } : {})) {
      const upTo = page.filter((event) => isUpTo(event.position));
      ordinal += upTo.length;
      if (upTo.length < page.length) break;
    }
    return ordinal;
  };

  return {
    ordinalOf,
    pointAt,
    ordinalAt: async (time) => (await pointAt(time)).ordinal,
    positionAt: async (time) => (await pointAt(time)).position,
  };
}

const after = ({ position }: PointInTime) => (position === undefined ? {} : { from: position });
