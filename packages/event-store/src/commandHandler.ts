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
import type { StreamType } from '@coffer/kernel';
import { appendUntilKnown } from './appendUntilKnown.ts';
import type { CommandHandler, Outcome, Settled } from './commands.ts';
import { StoreOverloadedError } from './errors.ts';
import type { EventStore } from './port.ts';
import { decideRound, type Round } from './round.ts';
import type { SnapshotStore } from './snapshots.ts';
import { createStreamStates, stateOf } from './streamStates.ts';
import { type AnyStreamType, advance, isInHand, type Lane, putBack, takeWorks, type Work } from './works.ts';

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
const CACHE_BYTES = 64 * 1024 * 1024;
const MAX_PENDING = 10_000;

export function createCommandHandler(options: CommandHandlerOptions): CommandHandler {
  const { store, cacheBytes = CACHE_BYTES, maxPending = MAX_PENDING, snapshots, onSnapshotError } = options;
  const states = createStreamStates({ store, cacheBytes, snapshots, onSnapshotError });
  const lanes = new Map<string, Lane>();
  let pending = 0;

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
    forget: states.forget,
    stats: () => ({ pending, cachedBytes: states.bytes, cachedStreams: states.count }),
  };

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
    let current = states.remembered(lane.stream) ?? (await states.read(lane));
    let conflicts = 0;
    while (conflicts <= MAX_CONFLICTS) {
      const round = decideRound(lane, works, current);
      putBack(lane.queue, works.slice(round.works.length));
      works = round.works;

      if (round.events.length === 0) {
        if (round.onlyReplays || (await states.isCurrent(lane, current))) return answer(round);
        conflicts += 1;
        current = await states.read(lane, current);
        continue;
      }
      // Whatever can throw comes before the append: behind it, a work that is refused would be in the log.
      const next = stateOf(
        lane,
        round.state,
        current.revision + round.events.length,
        round.events.at(-1)?.id,
      );
      const outcome = await appendUntilKnown({ store, lane, round, current, refuse });
      switch (outcome) {
        case 'accepted':
          states.keep(lane, next);
          return answer(round);
        case 'rewritten':
          states.forget();
      }
      works = works.filter(isInHand);
      if (works.length === 0) {
        // What was decided may be in the log all the same.
        states.drop(lane.stream);
        return;
      }
      for (const work of works) advance(work, 'deciding');
      if (outcome === 'conflict' || outcome === 'rewritten') {
        conflicts += 1;
        current = await states.read(lane, current);
      }
    }
    throw new StoreOverloadedError(`Other processes keep writing to ${lane.stream}.`);
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
