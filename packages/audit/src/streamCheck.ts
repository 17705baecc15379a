/**
 * What must hold for the log by itself, without a chain: positions and revisions have no gaps, and every
 * event is readable and allowed by the rules of its stream.
 */
import type { EventStore, KeptSnapshots, OurLog, Position, RecordedEvent } from '@coffer/event-store';
import { parseStreamName } from '@coffer/kernel';
import { LRUCache } from 'lru-cache';
import type { Fault, FaultKind, FaultList } from './faults.ts';
import type { LogCheck, Numbered } from './logCheck.ts';
import type { Folding, Problem, StreamRules } from './streamRules.ts';

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
    faults.add(of('position_gap', event, ordinal, reason));
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

/** Streams whose last revision is cached; for any other the store is asked, so the answer stays exact. */
const KNOWN_STREAMS = 100_000;

/** The last revision of each stream, as far as the log has been read. */
export type KnownRevisions = LRUCache<string, number>;
export const createKnownRevisions = (): KnownRevisions => new LRUCache({ max: KNOWN_STREAMS });

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
    faults.add(of('revision_gap', event, ordinal, reason));
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

/** Streams folded at a time: the store's other readers need their turn, too. */
const FOLDED_AT_ONCE = 4;
/** Streams for which a later event that does not follow is remembered. */
const MOST_REMEMBERED = 10_000;

/**
 * Reads every event, and folds every stream as a whole when its first event comes. Keeping the states of all
 * streams until their next event comes would take unbounded memory; keeping only some and folding the others
 * repeatedly would take time quadratic in their length.
 */
export function createFoldCheck({
  store,
  rules,
  snapshots,
  faults,
  end,
}: {
  readonly store: Reported;
  readonly rules: readonly StreamRules[];
  /** Compared with what their streams fold to. */
  readonly snapshots: KeptSnapshots | undefined;
  readonly faults: FaultList;
  /** Later events were written after the verification began. */
  readonly end: Position | undefined;
}): LogCheck {
  const byCategory = new Map(rules.map((one) => [one.category, one]));
  /** By stream: the first event that does not follow, until the log reaches it. */
  const ahead = new Map<
    string,
    { readonly one: RecordedEvent; readonly ordinal: number; readonly problem: Problem }
  >();

  const rulesOf = (stream: string): StreamRules | undefined => {
    const category = parseStreamName(stream)?.category;
    return category === undefined ? undefined : byCategory.get(category);
  };
  const fold = async ({ event, ordinal }: Numbered, hasSnapshot: boolean): Promise<void> => {
    const folding = rulesOf(event.stream)?.startFolding();
    if (!folding) return;
    const compareSnapshot = hasSnapshot ? await snapshotCheck({ event, ordinal }) : undefined;
    for await (const page of store.readStream(event.stream)) {
      for (const one of page) {
        if (end === undefined || store.comparePositions(one.position, end) > 0) return;
        const problem = folding.take(one);
        if (!problem) {
          compareSnapshot?.(one, folding);
          continue;
        }
        // An unreadable event is reported when the log reaches it; nothing after it can be folded.
        if (problem.kind !== 'unfoldable') return;
        if (ahead.size < MOST_REMEMBERED) ahead.set(event.stream, { one, ordinal, problem });
        else faults.add(of(problem.kind, one, ordinal, problem.reason));
        return;
      }
    }
    compareSnapshot?.(undefined, folding);
  };

  /** Those of the streams that have a snapshot of the version in use. */
  const withSnapshots = async (streams: readonly string[]): Promise<ReadonlySet<string>> => {
    const places = (streams.length > 0 && (await snapshots?.placesAmong(streams))) || [];
    const inUse = places.filter(
      ({ stream, deciderVersion }) => rulesOf(stream)?.snapshotVersion === deciderVersion,
    );
    return new Set(inUse.map(({ stream }) => stream));
  };

  /**
   * Reads the snapshot before its stream, which then includes the event it was taken at. Called with each
   * folded event, and without one if the stream ends before the snapshot. A fault has the ordinal of the
   * stream's first event.
   */
  const snapshotCheck = async ({ event: { stream }, ordinal }: Numbered) => {
    const deciderVersion = rulesOf(stream)?.snapshotVersion;
    const snapshot = deciderVersion !== undefined && (await snapshots?.read({ stream, deciderVersion }));
    if (!snapshot) return undefined;
    const { revision, eventId: id } = snapshot;
    const add = (reason: string) =>
      faults.add({ kind: 'false_snapshot', ordinal, stream, revision, id, reason });
    let isMet = false;
    if (!snapshot.isAuthentic) {
      add('the service did not write it, or under another COFFER_SECRETS_KEY; it is not used');
      return undefined;
    }
    return (folded: RecordedEvent | undefined, folding: Folding) => {
      if (!folded) {
        if (!isMet) add('its stream has no such event');
      } else if (folded.revision === revision) {
        isMet = true;
        if (folded.id !== id) add('its stream has another event there');
        else if (!folding.isSnapshot(snapshot.text)) add('it is not what its stream folds to');
      }
    };
  };

  return {
    async prepare(events) {
      const firsts = events.filter(({ event }) => event.revision === 0);
      const snapshotted = await withSnapshots(firsts.map(({ event }) => event.stream));
      const worker = async () => {
        for (let first = firsts.pop(); first; first = firsts.pop()) {
          await fold(first, snapshotted.has(first.event.stream));
        }
      };
      await Promise.all(Array.from({ length: FOLDED_AT_ONCE }, worker));
    },
    take(event, ordinal) {
      const rulesOfIt = rulesOf(event.stream);
      const problem = rulesOfIt ? rulesOfIt.read(event) : UNKNOWN_STREAM;
      if (problem) faults.add(of(problem.kind, event, ordinal, problem.reason));
      const expected = ahead.get(event.stream);
      if (expected?.one.revision === event.revision) {
        ahead.delete(event.stream);
        faults.add(of(expected.problem.kind, event, ordinal, expected.problem.reason));
      }
      return undefined;
    },
    end() {
      // The log did not get that far: reported at the place of the stream's first event.
      for (const { one, ordinal, problem } of ahead.values()) {
        faults.add(of(problem.kind, one, ordinal, problem.reason));
      }
      return undefined;
    },
  };
}

const UNKNOWN_STREAM: Problem = { kind: 'unknown_event', reason: 'this release knows no such stream' };

/** Gives a check only the wanted streams. */
export function onlyStreams(check: LogCheck, isWanted: (stream: string) => boolean): LogCheck {
  const { prepare } = check;
  return {
    ...check,
    ...(prepare && { prepare: (events) => prepare(events.filter(({ event }) => isWanted(event.stream))) }),
    take: (event, ordinal) => (isWanted(event.stream) ? check.take(event, ordinal) : undefined),
  };
}

function of(
  kind: FaultKind,
  { stream, revision, id }: RecordedEvent,
  ordinal: number,
  reason: string,
): Fault {
  return { kind, ordinal, stream, revision, id, reason };
}
