/**
 * What must hold for the log by itself, without a chain: positions and revisions have no gaps. What its streams say is
 * checked in `foldCheck.ts`.
 */
import type { EventStore, OurLog, Position, RecordedEvent } from '@coffer/event-store';
import type { FaultList } from './faults.ts';
import { ofEvent } from './faults.ts';
import type { LogCheck } from './logCheck.ts';

type Reported = Pick<EventStore, 'readStream' | 'comparePositions' | 'distance'>;

/** If the backend can count, each event comes right after the previous one, ours or another user's. */
export function createPositionCheck(
  store: Pick<EventStore, 'distance' | 'comparePositions'> & {
    readonly whole: Pick<OurLog['whole'], 'readAll'>;
  },
  faults: FaultList,
  after: Position | undefined,
): LogCheck {
  let last = after;

  const check = (event: RecordedEvent, ordinal: number, distance: number): void => {
    if (distance === 1) return;
    const reason =
      distance > 1
        ? `${distance - 1} positions before ${event.position} hold no event`
        : `its position ${event.position} does not stand behind the one before`;
    faults.add(ofEvent('position_gap', event, ordinal, reason));
  };
  /** Counted only if there is a gap between two of ours. */
  const othersBetween = async (from: Position | undefined, to: Position): Promise<number> => {
    let count = 0;
    for await (const page of store.whole.readAll(from === undefined ? {} : { from })) {
      const before = page.filter(({ position }) => store.comparePositions(position, to) < 0).length;
      count += before;
      if (before < page.length) break;
    }
    return count;
  };
  return {
    take(event, ordinal) {
      const from = last;
      last = event.position;
      const distance = store.distance(from, event.position);
      if (distance === undefined) return undefined;
      if (distance <= 1) return void check(event, ordinal, distance);
      return othersBetween(from, event.position).then((others) => check(event, ordinal, distance - others));
    },
    end: () => undefined,
  };
}

/** Streams whose last revision is surely known; for any other the store may be asked, so the answer stays exact. */
const KNOWN_STREAMS = 50_000;

/** The last revision of each stream, as far as the log has been read. */
export interface KnownRevisions {
  readonly get: (stream: string) => number | undefined;
  readonly set: (stream: string, revision: number) => void;
}

/** Those seen last are kept, and those before them: an order of all, kept event by event, would cost more than the check. */
export function createKnownRevisions(streams = KNOWN_STREAMS): KnownRevisions {
  let latest = new Map<string, number>();
  let before: ReadonlyMap<string, number> = new Map();
  return {
    get: (stream) => latest.get(stream) ?? before.get(stream),
    set(stream, revision) {
      latest.set(stream, revision);
      if (latest.size < streams) return;
      before = latest;
      latest = new Map();
    },
  };
}

/** The revisions of each stream start at 0 and have no gaps, in the order of the log. */
export function createRevisionCheck(
  store: Reported,
  faults: FaultList,
  lastRevisions: KnownRevisions = createKnownRevisions(),
): LogCheck {
  const take = (event: RecordedEvent, ordinal: number, last: number): void => {
    const { stream, revision } = event;
    lastRevisions.set(stream, revision);
    if (revision === last + 1) return;
    const reason = `revision ${last + 1} was to follow`;
    faults.add(ofEvent('revision_gap', event, ordinal, reason));
  };
  return {
    take(event, ordinal) {
      const { stream, revision } = event;
      const last = lastRevisions.get(stream);
      if (last !== undefined || revision === 0) {
        take(event, ordinal, last ?? -1);
        return undefined;
      }
      return lastBefore(store, event).then((found) => take(event, ordinal, found));
    },
    end: () => undefined,
  };
}

/** The revision of the stream's previous event, in the order of the log; -1 if there is none. */
async function lastBefore(store: Reported, event: RecordedEvent): Promise<number> {
  const options = { direction: 'backwards', fromRevision: event.revision - 1 } as const;
  // Nearly always the event just before; only in a log that is out of order does the search go further back.
  for (const limit of [1, Infinity]) {
    for await (const page of store.readStream(event.stream, { ...options, limit })) {
      const found = page.find(({ position }) => store.comparePositions(position, event.position) < 0);
      if (found) return found.revision;
    }
  }
  return -1;
}

export function onlyStreams(check: LogCheck, isWanted: (stream: string) => boolean): LogCheck {
  const { prepare } = check;
  return {
    ...check,
    ...(prepare && { prepare: (events) => prepare(events.filter(({ event }) => isWanted(event.stream))) }),
    take: (event, ordinal) => (isWanted(event.stream) ? check.take(event, ordinal) : undefined),
  };
}
