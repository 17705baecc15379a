/**
 * The path of every write: state from the cache, decide, append at the revision decided on.
 *
 * Commands for one stream queue in its lane, so one process never races itself. While an append is in
 * flight the next commands wait; then all that wait are decided together, each on the state that the one
 * before it left, and appended once. No answer leaves before that append has committed.
 *
 * What cached state may answer: an append accepted at its revision, and the replay of a committed write that
 * no later one can take back. A refusal, an answer without an event and a query are confirmed current first,
 * by the append that went with them or by asking the store for the stream's head: so a second process never
 * causes a false refusal.
 */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { type EventMetadata, fold, type StreamType } from '@coffer/kernel';
import {
  LogRewrittenError,
  OutcomeUnknownError,
  StoreAbsentError,
  StoreOverloadedError,
  StoreUnreachableError,
  WrongExpectedRevisionError,
} from './errors.ts';
import { createHeadProber } from './headProber.ts';
import type { EventStore, StreamEvent } from './port.ts';
import { decideRound, type Round } from './round.ts';
import { isSnapshotDue, SNAPSHOT_MIN_EVENTS, type SnapshotStore } from './snapshots.ts';
import { type CachedState, createStateCache } from './stateCache.ts';
import { type AnyStreamType, advance, isInHand, type Lane, putBack, takeWorks, type Work } from './works.ts';

export interface Outcome<Answer> {
  readonly answer: Answer;
  /** The answer repeats that of an earlier write. */
  readonly replayed: boolean;
  /** What this command appended; empty when nothing new happened. */
  readonly appended: readonly StreamEvent[];
}

export type Settled<Answer> =
  | ({ readonly status: 'decided' } & Outcome<Answer>)
  | { readonly status: 'refused'; readonly reason: unknown };

export interface CommandContext extends Deadline {
  readonly metadata: EventMetadata;
  /** Given where the event follows from a cause: the same ids on every path. Default: fresh ones. */
  readonly eventIdOf?: (index: number) => string;
}

export interface Deadline {
  /** Past this time (milliseconds of `performance.now()`) an unknown outcome is answered as such. */
  readonly deadlineMs: number;
}

export interface CommandHandler {
  /** Decides one command on one stream. Throws the decider's `Rejection` or a store error. */
  execute<Command, Event, State, Answer>(
    type: StreamType<Command, Event, State, Answer>,
    stream: string,
    command: Command,
    context: CommandContext,
  ): Promise<Outcome<Answer>>;

  /** Decides the commands in order and appends what they decide at once; one result per command. */
  executeAll<Command, Event, State, Answer>(
    type: StreamType<Command, Event, State, Answer>,
    stream: string,
    commands: readonly Command[],
    context: CommandContext,
  ): Promise<readonly Settled<Answer>[]>;

  /** The state of a stream, confirmed current. */
  load<Command, Event, State, Answer>(
    type: StreamType<Command, Event, State, Answer>,
    stream: string,
    context: Deadline,
  ): Promise<State>;

  /** Drops every cached state: the log is known to have been rewritten. Nothing in flight is disturbed. */
  forget(): void;

  /** For metrics. */
  stats(): { readonly pending: number; readonly cachedBytes: number; readonly cachedStreams: number };
}

export interface CommandHandlerOptions {
  readonly store: EventStore;
  readonly cacheBytes?: number;
  /** Commands that may wait, over all streams, before the next one is refused. */
  readonly maxPending?: number;
  readonly snapshots?: SnapshotStore;
  /** A snapshot that cannot be saved costs time on a later cold fold, nothing else. */
  readonly onSnapshotError?: (error: unknown) => void;
}

/** Another process won the revision so many times in a row: give up with "try again". */
const MAX_CONFLICTS = 100;
const RETRY_DELAYS_MS = [10, 50, 100, 250, 500];

export function createCommandHandler(options: CommandHandlerOptions): CommandHandler {
  const { store, snapshots } = options;
  const maxPending = options.maxPending ?? 10_000;
  const cache = createStateCache(options.cacheBytes ?? 64 * 1024 * 1024);
  const probeHead = createHeadProber(store);
  const lanes = new Map<string, Lane>();
  const lastSnapshots = new Map<string, number>();
  let pending = 0;

  function enqueue(
    type: AnyStreamType,
    stream: string,
    work: Pick<Work, 'decides' | 'context' | 'deadlineMs'>,
  ): Promise<readonly Settled<unknown>[]> {
    if (pending >= maxPending) {
      return Promise.reject(new StoreOverloadedError(`${pending} commands are waiting already.`));
    }
    return new Promise((resolve, reject) => {
      pending += 1;
      const entry: Work = { ...work, resolve, reject, state: 'queued' };
      const lane = lanes.get(stream);
      if (lane) {
        lane.queue.push(entry);
        return;
      }
      const opened: Lane = { type, stream, queue: [entry] };
      lanes.set(stream, opened);
      void runLane(opened);
    });
  }

  async function runLane(lane: Lane): Promise<void> {
    while (lane.queue.length > 0) {
      const works = takeWorks(lane.queue);
      try {
        await settle(lane, works);
        assert(!works.some(isInHand), 'every work was answered or put back');
      } catch (error) {
        // Those put back are none of this append's, and are decided for one of their own.
        for (const work of works) if (isInHand(work)) refuse(work, error);
      }
    }
    lanes.delete(lane.stream);
  }

  /** Decides the works and appends what they decided, again and again until it stands or time is up. */
  async function settle(lane: Lane, taken: readonly Work[]): Promise<void> {
    let works = taken;
    let current = cache.get(lane.stream) ?? (await readFrom(lane, undefined));
    let conflicts = 0;
    while (conflicts <= MAX_CONFLICTS) {
      const round = decideRound(lane, works, current);
      putBack(lane.queue, works.slice(round.works.length));
      works = round.works;

      if (round.events.length === 0) {
        if (round.onlyReplays || (await isCurrent(lane, current))) return answer(round);
        conflicts += 1;
        current = await readFrom(lane, current);
        continue;
      }
      // Whatever can throw comes before the append: behind it, a work that is refused would be in the log.
      const next = stateAfter(
        lane,
        round.state,
        current.revision + round.events.length,
        round.events.at(-1)?.id,
      );
      const outcome = await appendUntilKnown(lane, round, current);
      if (outcome === 'accepted') {
        cache.set(lane.stream, next);
        answer(round);
        takeSnapshotWhenDue(lane, next);
        return;
      }
      works = works.filter(isInHand);
      if (works.length === 0) {
        // What was decided may be in the log all the same.
        cache.delete(lane.stream);
        return;
      }
      for (const work of works) advance(work, 'deciding');
      if (outcome === 'conflict') {
        conflicts += 1;
        current = await readFrom(lane, current);
      }
    }
    throw new StoreOverloadedError(`Other processes keep writing to ${lane.stream}.`);
  }

  /**
   * Appends the round. An unknown outcome is retried with the same events at the same revision, which the
   * store recognizes; each work whose time is up meanwhile is told so. `unwritten`: some were told that nothing
   * was, so their events are not sent again.
   */
  async function appendUntilKnown(
    lane: Lane,
    round: Round,
    current: CachedState<unknown>,
  ): Promise<'accepted' | 'conflict' | 'unwritten' | 'timeUp'> {
    for (const work of round.works) advance(work, 'appending');
    let unknown: OutcomeUnknownError | undefined;
    for (let attempt = 0; ; attempt++) {
      try {
        await store.append({
          stream: lane.stream,
          expectedRevision: current.revision < 0 ? 'noStream' : current.revision,
          events: round.events,
          ...(current.lastEventId === undefined ? {} : { expectedLastEventId: current.lastEventId }),
        });
        return 'accepted';
      } catch (error) {
        if (error instanceof WrongExpectedRevisionError) return 'conflict';
        if (error instanceof LogRewrittenError) {
          forget();
          return 'conflict';
        }
        // Once an attempt may have been written, no later failure makes it unwritten.
        if (error instanceof OutcomeUnknownError) unknown = error;
        else if (
          !unknown &&
          (error instanceof StoreAbsentError || !(error instanceof StoreUnreachableError))
        ) {
          throw error;
        }
        const delayMs = RETRY_DELAYS_MS[Math.min(attempt, RETRY_DELAYS_MS.length - 1)] ?? 0;
        const now = performance.now();
        const waiting = round.works.filter(isInHand);
        const late = waiting.filter((work) => now + delayMs >= work.deadlineMs);
        for (const work of late) refuse(work, unknown ?? error);
        if (late.length === waiting.length) return 'timeUp';
        await delay(delayMs);
        if (late.length > 0 && !unknown) return 'unwritten';
      }
    }
  }

  async function isCurrent(lane: Lane, current: CachedState<unknown>): Promise<boolean> {
    const head = await probeHead(lane.stream);
    return (head?.revision ?? -1) === current.revision && head?.eventId === current.lastEventId;
  }

  /** Folds on from the state given; from a snapshot or the beginning when that is no longer in the log. */
  async function readFrom(
    lane: Lane,
    known: CachedState<unknown> | undefined,
  ): Promise<CachedState<unknown>> {
    if (known && known.revision >= 0) {
      const folded = await foldFrom(lane, known);
      if (folded) return folded;
      forget();
    }
    return coldFold(lane);
  }

  /** One stream that was rewritten is a log that was: no other state may answer a replay from memory. */
  function forget(): void {
    cache.clear();
    lastSnapshots.clear();
  }

  async function coldFold(lane: Lane): Promise<CachedState<unknown>> {
    let state = lane.type.initialState;
    let revision = -1;
    let lastEventId: string | undefined;
    let mayHaveSnapshot = snapshots !== undefined && lane.type.snapshot !== undefined;
    for await (const page of store.readStream(lane.stream)) {
      state = fold(lane.type, state, page);
      revision += page.length;
      lastEventId = page.at(-1)?.id;
      // Only a stream with many pages is worth the question.
      if (mayHaveSnapshot && revision + 1 >= SNAPSHOT_MIN_EVENTS / 2) {
        mayHaveSnapshot = false;
        const folded = await foldFromSnapshot(lane, revision);
        if (folded) return folded;
      }
    }
    return remember(lane, state, revision, lastEventId);
  }

  async function foldFromSnapshot(lane: Lane, foldedTo: number): Promise<CachedState<unknown> | undefined> {
    const snapshot = await snapshots?.load(lane.stream, lane.type.version);
    if (!snapshot || snapshot.revision <= foldedTo || !lane.type.snapshot) return undefined;
    lastSnapshots.set(lane.stream, snapshot.revision);
    return foldFrom(lane, {
      state: lane.type.snapshot.decode(snapshot.state),
      revision: snapshot.revision,
      lastEventId: snapshot.eventId,
      bytes: 0,
    });
  }

  /** Undefined when the stream no longer holds the last event folded: it was rewritten. */
  async function foldFrom(
    lane: Lane,
    known: CachedState<unknown>,
  ): Promise<CachedState<unknown> | undefined> {
    let state = known.state;
    let revision = known.revision;
    let lastEventId = known.lastEventId;
    let isFirst = true;
    for await (const page of store.readStream(lane.stream, { fromRevision: known.revision })) {
      if (isFirst && page[0]?.id !== known.lastEventId) return undefined;
      const unseen = isFirst ? page.slice(1) : page;
      isFirst = false;
      state = fold(lane.type, state, unseen);
      revision += unseen.length;
      lastEventId = unseen.at(-1)?.id ?? lastEventId;
    }
    return isFirst ? undefined : remember(lane, state, revision, lastEventId);
  }

  function remember(
    lane: Lane,
    state: unknown,
    revision: number,
    lastEventId: string | undefined,
  ): CachedState<unknown> {
    const entry = stateAfter(lane, state, revision, lastEventId);
    // A stream that does not exist is not worth its room, and ids that nobody opened are without number.
    if (revision >= 0) cache.set(lane.stream, entry);
    return entry;
  }

  function takeSnapshotWhenDue(
    lane: Lane,
    { state, revision, lastEventId: eventId }: CachedState<unknown>,
  ): void {
    const { snapshot, version } = lane.type;
    if (!snapshots || !snapshot || eventId === undefined || revision < SNAPSHOT_MIN_EVENTS) return;
    if (!isSnapshotDue(revision, lastSnapshots.get(lane.stream) ?? 0)) return;
    lastSnapshots.set(lane.stream, revision);
    // The encoding, too, is inside: a state that cannot be encoded is told of like one that cannot be saved.
    const save = async () =>
      snapshots.save(lane.stream, version, { revision, eventId, state: snapshot.encode(state) });
    save().catch((error: unknown) => options.onSnapshotError?.(error));
  }

  function answer(round: Round): void {
    round.works.forEach((work, index) => {
      // Its time was up meanwhile, and it was told that the outcome is unknown.
      if (!isInHand(work)) return;
      advance(work, 'answered');
      pending -= 1;
      work.resolve(round.results[index] ?? []);
    });
  }

  function refuse(work: Work, reason: unknown): void {
    advance(work, 'answered');
    pending -= 1;
    work.reject(reason);
  }

  return {
    async execute(type, stream, command, context) {
      const [settled] = await enqueue(untyped(type), stream, {
        decides: [(state) => untyped(type).decide(state, command)],
        context,
        deadlineMs: context.deadlineMs,
      });
      return unwrap(settled);
    },
    async executeAll(type, stream, commands, context) {
      const results = await enqueue(untyped(type), stream, {
        decides: commands.map((command) => (state: unknown) => untyped(type).decide(state, command)),
        context,
        deadlineMs: context.deadlineMs,
      });
      return results as readonly Settled<never>[];
    },
    async load(type, stream, context) {
      const [settled] = await enqueue(untyped(type), stream, {
        decides: [(state) => ({ events: [], answer: state })],
        context: undefined,
        deadlineMs: context.deadlineMs,
      });
      return unwrap(settled).answer;
    },
    forget,
    stats: () => ({ pending, cachedBytes: cache.bytes, cachedStreams: cache.entries }),
  };
}

function stateAfter(
  lane: Lane,
  state: unknown,
  revision: number,
  lastEventId: string | undefined,
): CachedState<unknown> {
  return { state, revision, lastEventId, bytes: lane.type.sizeOf(state) + lane.stream.length };
}

/**
 * Lanes hold streams of every type side by side. A stream's name begins with its type's category, so all
 * that meets in one lane has one type, and what its caller is given back is what that type made.
 */
function untyped<Command, Event, State, Answer>(
  type: StreamType<Command, Event, State, Answer>,
): AnyStreamType {
  return type as unknown as AnyStreamType;
}

function unwrap(settled: Settled<unknown> | undefined): Outcome<never> {
  if (settled?.status !== 'decided') throw settled?.reason;
  return { ...settled, answer: settled.answer as never };
}
