/**
 * Places in the log by ordinal and by time. A store's clock may go back, so the recorded times of events are
 * not in order; their running maximum is, and it gives each time one place: after the last event up to which,
 * itself included, nothing was recorded later.
 */
import type { Queryable } from '@coffer/database';
import type { EventStore, Position } from '@coffer/event-store';
import { type ChainHead, recordedBy } from './blocks.ts';
import { lastBlockWhere, readBlockAt, readHeadUpTo } from './blocksTable.ts';
import type { Ordinal } from './chain.ts';

export interface PointInTime {
  /** How many events had been recorded. */
  readonly ordinal: Ordinal;
  /** Position of the last of them; undefined before the first event. */
  readonly position: Position | undefined;
}

export interface PointsInTime {
  readonly pointAt: (time: Date) => Promise<PointInTime>;
  /** The point after the event with this ordinal; the end of the log if there is no such event. */
  readonly pointOf: (ordinal: Ordinal) => Promise<PointInTime>;
  /** How many events there are up to the position; all of them for one beyond the end. */
  readonly ordinalOf: (position: Position) => Promise<Ordinal>;
}

/** Uses the chain's blocks and, after the last of them, the log itself. */
export function createPointsInTime(
  db: Queryable,
  store: Pick<EventStore, 'readAll' | 'comparePositions'>,
): PointsInTime {
  const pointAt = async (time: Date): Promise<PointInTime> => {
    const timeMs = time.getTime();
    const { before, block } = await readBlockAt(db, timeMs);
    // The time is not exceeded before the block, so its first later event exceeds it.
    const start = endOf(before);
    return block ? onFrom(start, recordedBy(block, timeMs)) : behindBlocks(start, timeMs);
  };

  const pointOf = async (ordinal: Ordinal): Promise<PointInTime> => {
    const start = endOf(await readHeadUpTo(db, ordinal));
    return onFrom(start, ordinal - start.ordinal);
  };

  /** This many events on from the start, or to the end of the log. */
  const onFrom = async (start: PointInTime, count: number): Promise<PointInTime> => {
    let point = start;
    for await (const page of store.readAll({ ...after(start), limit: count })) {
      point = { ordinal: point.ordinal + page.length, position: page.at(-1)?.position };
    }
    return point;
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

  return { pointAt, pointOf, ordinalOf };
}

const endOf = (head: ChainHead | undefined): PointInTime => ({
  ordinal: head?.ordinal ?? 0,
  position: head?.place.position,
});

const after = ({ position }: PointInTime) => (position === undefined ? {} : { from: position });
