/**
 * The path of every write: state from the cache, decide, append at the revision decided on.
 *
 * Commands for one stream queue in its lane, so a process never races itself. While an append is in flight the next
 * commands wait; then all that wait are decided together, each on the state that the one before it left, and appended
 * at once. No answer leaves before that append has committed.
 *
 * Cached state alone may answer two things: an append accepted at its revision, and the replay of a committed write that
 * no later write can undo. A refusal, an answer without an event and a query are first confirmed to be current, by the
 * append they were decided with or by asking the store for the stream's head. So a second process never causes a false
 * refusal.
 */
import assert from 'node:assert/strict';
import { createTransientMap, type Decision, WholeStateNeeded } from '@coffer/kernel';
import { appendUntilKnown } from './appendUntilKnown.ts';
import type { CommandContext, CommandHandler, LoadContext, Outcome, Settled } from './commands.ts';
import { StoreOverloadedError } from './errors.ts';
import type { EventStore } from './port.ts';
import { decideRound, type Round } from './round.ts';
import type { SnapshotStore } from './snapshots.ts';
import { isWhole } from './stateOutlines.ts';
import type { StreamReturn } from './stateStats.ts';
import { type StreamState, stateOf } from './streamState.ts';
import { createStreamStates } from './streamStates.ts';
import {
  type AnyStreamType,
  advance,
  anyTypeOf,
  isInHand,
  type Lane,
  putBack,
  takeWorks,
  type Work,
} from './works.ts';

export interface CommandHandlerOptions {
  readonly store: EventStore;
  readonly cacheBytes?: number;
  /** The most commands that may wait, over all streams; the next is refused. */
  readonly maxPending?: number;
  readonly snapshots?: SnapshotStore;
  /** A snapshot that cannot be saved or decoded only makes a later return slower. */
  readonly onSnapshotError?: (error: unknown) => void;
  /** Told how each state was found that was not cached. */
  readonly onReturn?: (met: StreamReturn) => void;
}

/** How often in a row another process may win the revision before the caller is told to try again. */
const MAX_CONFLICTS = 100;
const CACHE_BYTES = 64 * 1024 * 1024;
const MAX_PENDING = 10_000;

export function createCommandHandler(options: CommandHandlerOptions): CommandHandler {
  const { store, cacheBytes = CACHE_BYTES, maxPending = MAX_PENDING, snapshots } = options;
  const { onSnapshotError = () => undefined, onReturn = () => undefined } = options;
  const states = createStreamStates({ store, cacheBytes, snapshots, onSnapshotError, onReturn });
  const lanes = createTransientMap<string, Lane>();
  let pending = 0;

  return {
    async execute(type, stream, command, context) {
      const [settled] = await decideAll(anyTypeOf(type), stream, [command], context);
      return unwrap(settled);
    },
    executeAll: (type, stream, commands, context) =>
      decideAll(anyTypeOf(type), stream, commands, context) as Promise<readonly Settled<never>[]>,
    async load(type, stream, context) {
      // With no command under way, the state at hand need not take its turn.
      const known = lanes.has(stream) || pending >= maxPending ? undefined : states.remembered(stream);
      if (!known || !suffices(known, context)) return loadInTurn(anyTypeOf(type), stream, context);
      pending += 1;
      const isCurrent = await states.isCurrent(known).finally(() => {
        pending -= 1;
      });
      // The stream's name says that it is of this type.
      return isCurrent ? (known.state as never) : loadInTurn(anyTypeOf(type), stream, context);
    },
    forget: states.forget,
    saveStates: states.save,
    stats: () => ({ pending, ...states.stats() }),
  };

  async function loadInTurn(type: AnyStreamType, stream: string, asked: LoadContext): Promise<never> {
    const [settled] = await enqueue(type, stream, {
      decides: [(state) => answerState({ type, state }, asked)],
      context: undefined,
      deadlineMs: asked.deadlineMs,
    });
    return unwrap(settled).answer;
  }

  function decideAll(
    type: AnyStreamType,
    stream: string,
    commands: readonly unknown[],
    context: CommandContext,
  ): Promise<readonly Settled<unknown>[]> {
    const decides = commands.map((command) => (state: unknown) => type.decide(state, command));
    return enqueue(type, stream, { decides, context, deadlineMs: context.deadlineMs });
  }

  function enqueue(
    type: AnyStreamType,
    stream: string,
    work: Pick<Work, 'decides' | 'context' | 'deadlineMs'>,
  ): Promise<readonly Settled<unknown>[]> {
    if (pending >= maxPending) {
      return Promise.reject(new StoreOverloadedError(`${pending} commands are already waiting.`));
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
      // What else arrives for the stream in this turn, such as the credits of one player, shares the append.
      queueMicrotask(() => void runLane(opened));
    });
  }

  async function runLane(lane: Lane): Promise<void> {
    while (lane.queue.length > 0) {
      const works = takeWorks(lane.queue);
      try {
        await settle(lane, works);
        assert(!works.some(isInHand), 'every work was answered or put back');
      } catch (error) {
        // Works put back are not part of this append; they are decided again for the next.
        for (const work of works) if (isInHand(work)) refuse(work, error);
      }
    }
    lanes.delete(lane.stream);
  }

  /** Decides the works and appends what they decided, repeatedly, until the append stands or time is up. */
  async function settle(lane: Lane, taken: readonly Work[]): Promise<void> {
    let works = taken;
    let current = states.remembered(lane.stream) ?? (await states.read(lane));
    let conflicts = 0;
    while (conflicts <= MAX_CONFLICTS) {
      const round = decideRound(lane, works, current);
      if (!round) {
        current = await states.read(lane);
        continue;
      }
      putBack(lane.queue, works.slice(round.works.length));
      works = round.works;

      const { events } = round;
      if (events.length === 0) {
        if (round.onlyReplays || (await states.isCurrent(current))) return answer(round);
        conflicts += 1;
        current = await states.read(lane, current);
        continue;
      }
      // Whatever can throw comes before the append: after it, the events of a refused work would be in the log.
      const next = stateOf(current, round.state, current.revision + events.length, events.at(-1)?.id);
      const outcome = await appendUntilKnown({ store, lane, round, current, refuse });
      switch (outcome) {
        case 'accepted':
          states.keep(next);
          return answer(round);
        case 'rewritten':
          states.forget();
      }
      works = works.filter(isInHand);
      if (works.length === 0) {
        // What was decided may still be in the log.
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

type TypedState = Pick<StreamState, 'type' | 'state'>;

const suffices = (known: TypedState, { outlineSuffices }: LoadContext): boolean =>
  outlineSuffices === true || isWhole(known);

function answerState(known: TypedState, asked: LoadContext): Decision<never, unknown> {
  if (!suffices(known, asked)) throw new WholeStateNeeded();
  return { events: [], answer: known.state };
}

function unwrap(settled: Settled<unknown> | undefined): Outcome<never> {
  if (settled?.status !== 'decided') throw settled?.reason;
  return { ...settled, answer: settled.answer as never };
}
