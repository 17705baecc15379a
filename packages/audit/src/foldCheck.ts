/** Whether every event is readable, and allowed by the rules of its stream. */
import type { EventStore, KeptSnapshots, Position, RecordedEvent } from '@coffer/event-store';
import type { Ordinal } from './chain.ts';
import { type FaultList, ofEvent } from './faults.ts';
import type { LogCheck, Numbered } from './logCheck.ts';
import { createSnapshotChecks, type SnapshotCheck } from './snapshotChecks.ts';
import {
  type Folding,
  metadataProblem,
  type Problem,
  rulesByStream,
  type StreamRules,
} from './streamRules.ts';
import { together } from './together.ts';

/** Streams for which a later event that does not follow is remembered. */
const MOST_REMEMBERED = 10_000;
/** What the states of the streams being folded may take. */
const STATES_BYTES = 64 * 1024 * 1024;
/** Of a stream besides its state. */
const STREAM_BYTES = 500;
/** Some stores read each by itself: a command on the same connection must not wait long. */
const HEADS_A_QUESTION = 100;
/** The size of a state is looked at once in so many events. */
const SIZED_EVERY = 16;

/** A stream that is folded as the log is read. */
interface Folded {
  readonly stream: string;
  /** Of its first event. */
  readonly ordinal: Ordinal;
  readonly folding: Folding;
  readonly snapshot: SnapshotCheck | undefined;
  nextRevision: number;
  bytes: number;
}

/**
 * Reads every event, and folds every stream as the log is read. When the states take too much memory, the oldest are
 * given up: the rest of such a stream is read and folded at once. So every event is folded once, and few are read twice.
 */
export function createFoldCheck({
  store,
  rules,
  snapshots,
  faults,
  end,
  statesBytes = STATES_BYTES,
  rest,
}: {
  readonly store: Pick<EventStore, 'readStream' | 'heads' | 'comparePositions'>;
  readonly rules: readonly StreamRules[];
  /** Compared with what their streams fold to. */
  readonly snapshots: KeptSnapshots | undefined;
  readonly faults: FaultList;
  /** Later events were written after the verification began. */
  readonly end: Position | undefined;
  readonly statesBytes?: number | undefined;
  /** At each page that is read of a stream by itself; then one stream is read at a time. */
  readonly rest?: (() => Promise<void>) | undefined;
}): LogCheck {
  const rulesOf = rulesByStream(rules);
  const readChecks = createSnapshotChecks({ snapshots, rulesOf, faults });
  /** By stream, the oldest first. */
  const folded = new Map<string, Folded>();
  let bytes = 0;
  /** Of the page's new streams. */
  let snapshotChecks: ReadonlyMap<string, SnapshotCheck> = new Map();
  /** Streams that begin in the page and have been folded. */
  let foldedBefore: ReadonlySet<string> = new Set();
  /** By stream: the first event that does not follow, until the log reaches it. */
  const ahead = new Map<
    string,
    { readonly one: RecordedEvent; readonly ordinal: number; readonly problem: Problem }
  >();

  const isWithin = (position: Position) => end !== undefined && store.comparePositions(position, end) <= 0;

  const forget = (one: Folded): void => {
    if (folded.delete(one.stream)) bytes -= one.bytes;
  };

  const finish = async ({ stream, ordinal, folding, snapshot, nextRevision }: Folded): Promise<void> => {
    for await (const page of store.readStream(stream, { fromRevision: nextRevision })) {
      // From what the page before it took, too, of whichever stream that was.
      await rest?.();
      for (const one of page) {
        if (!isWithin(one.position)) return;
        const problem = folding.take(one);
        if (!problem) {
          snapshot?.compare(one, folding);
          continue;
        }
        // An unreadable event is reported when the log reaches it; nothing after it can be folded.
        if (problem.kind !== 'unfoldable') return;
        if (ahead.size < MOST_REMEMBERED) ahead.set(stream, { one, ordinal, problem });
        else faults.add(ofEvent(problem.kind, one, ordinal, problem.reason));
        return;
      }
    }
    snapshot?.compare(undefined, folding);
  };

  /** Empties the list: the states of long streams are large, and each can go when it is finished. */
  const finishAll = async (ones: Folded[]): Promise<void> => {
    for (const one of ones) forget(one);
    while (ones.length > 0) {
      await together(await notEnded(store, ones.splice(0, HEADS_A_QUESTION)), finish, rest && 1);
    }
  };

  const size = (one: Folded): void => {
    const before = one.bytes;
    one.bytes = STREAM_BYTES + one.folding.bytes() + (one.snapshot?.bytes ?? 0);
    bytes += one.bytes - before;
  };

  const start = ({ event: { stream }, ordinal }: Numbered): Folded | undefined => {
    const folding = rulesOf(stream)?.startFolding();
    if (!folding) return undefined;
    const one = { stream, ordinal, folding, snapshot: snapshotChecks.get(stream), nextRevision: 0, bytes: 0 };
    folded.set(stream, one);
    size(one);
    return one;
  };

  /** The next event of a stream that is folded as the log is read. */
  const takeNext = (one: Folded, event: RecordedEvent, ordinal: Ordinal): void => {
    const unreadable = metadataProblem(event);
    const problem = one.folding.take(event);
    const told = unreadable ?? problem;
    if (told) faults.add(ofEvent(told.kind, event, ordinal, told.reason));
    if (!problem) {
      one.nextRevision = event.revision + 1;
      if (one.nextRevision % SIZED_EVERY === 0) size(one);
      one.snapshot?.compare(event, one.folding);
      return;
    }
    if (unreadable && problem.kind === 'unfoldable') {
      faults.add(ofEvent(problem.kind, event, ordinal, problem.reason));
    }
    forget(one);
  };

  const read = (event: RecordedEvent, ordinal: Ordinal): void => {
    const by = rulesOf(event.stream);
    const problem = by ? by.read(event) : UNKNOWN_STREAM;
    if (problem) faults.add(ofEvent(problem.kind, event, ordinal, problem.reason));
    const expected = ahead.get(event.stream);
    if (expected?.one.revision === event.revision) {
      ahead.delete(event.stream);
      faults.add(ofEvent(expected.problem.kind, event, ordinal, expected.problem.reason));
    }
  };

  return {
    async prepare(events) {
      await finishAll(oldest(folded.values(), bytes - statesBytes));
      snapshotChecks = await readChecks(events);
      const late = lateFirsts(events, folded);
      foldedBefore = new Set(late.map(({ event }) => event.stream));
      await finishAll(late.flatMap((first) => start(first) ?? []));
    },
    take(event, ordinal) {
      const { stream, revision } = event;
      const isFirst = revision === 0 && !foldedBefore.has(stream);
      const one = folded.get(stream) ?? (isFirst ? start({ event, ordinal }) : undefined);
      if (one?.nextRevision === revision) return void takeNext(one, event, ordinal);
      if (!one) return void read(event, ordinal);
      // The stream's order is not that of the log: it is folded in its own.
      return finishAll([one]).then(() => read(event, ordinal));
    },
    async end() {
      // A stream may go on behind the stretch, and in a log out of order also before its first event.
      await finishAll([...folded.values()]);
      // The log did not get that far: reported at the place of the stream's first event.
      for (const { one, ordinal, problem } of ahead.values()) {
        faults.add(ofEvent(problem.kind, one, ordinal, problem.reason));
      }
    },
  };
}

/** Compares those that have ended. */
async function notEnded(store: Pick<EventStore, 'heads'>, asked: readonly Folded[]): Promise<Folded[]> {
  const heads = await store.heads(asked.map(({ stream }) => stream));
  return asked.filter(({ snapshot, folding, nextRevision }, index) => {
    if ((heads[index]?.revision ?? -1) >= nextRevision) return true;
    snapshot?.compare(undefined, folding);
    return false;
  });
}

/** The first of them, until they make up this many bytes. */
function oldest(all: Iterable<Folded>, bytes: number): Folded[] {
  const found: Folded[] = [];
  let left = bytes;
  for (const one of all) {
    if (left <= 0) break;
    left -= one.bytes;
    found.push(one);
  }
  return found;
}

/** First events of streams that have a later event in front of them: such a stream is folded before that is reached. */
function lateFirsts(page: readonly Numbered[], folded: ReadonlyMap<string, unknown>): readonly Numbered[] {
  const seen = new Set<string>();
  return page.filter(({ event: { stream, revision } }) => {
    if (revision === 0) return seen.has(stream);
    if (!folded.has(stream)) seen.add(stream);
    return false;
  });
}

const UNKNOWN_STREAM: Problem = { kind: 'unknown_event', reason: 'this release knows no such stream' };
