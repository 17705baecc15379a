/** Decides works in turn, each on the state that the one before it left, as many as one append can carry. */
import { randomUUID } from 'node:crypto';
import { encodeMetadata, WholeStateNeeded } from '@coffer/kernel';
import { eventIdAt } from './causedBy.ts';
import type { Settled } from './commands.ts';
import type { EventToAppend, StreamEvent } from './port.ts';
import { isWhole } from './stateOutlines.ts';
import type { StreamState } from './streamState.ts';
import type { Lane, Work } from './works.ts';

/** The decisions on some works: to be appended at once, then answered. */
export interface Round {
  readonly works: readonly Work[];
  readonly results: readonly (readonly Settled<unknown>[])[];
  readonly events: readonly EventToAppend[];
  readonly state: unknown;
  /** Only replays that no later write can undo: answered without asking the store. */
  readonly onlyReplays: boolean;
}

/** The decision on one work. */
interface Decided {
  readonly results: readonly Settled<unknown>[];
  readonly events: readonly StreamEvent[];
  readonly bytes: number;
  readonly state: unknown;
  readonly onlyReplays: boolean;
}

/** Works are added to an append up to this size, well below what the store accepts; a larger work goes alone. */
const MAX_BYTES_PER_APPEND = 256 * 1024;

/** Undefined, with nothing decided, where the state is from an outline that does not suffice. */
export function decideRound(lane: Lane, works: readonly Work[], current: StreamState): Round | undefined {
  try {
    return decideWorks(lane, works, current);
  } catch (error) {
    if (!(error instanceof WholeStateNeeded) || isWhole(current)) throw error;
    return undefined;
  }
}

function decideWorks(lane: Lane, works: readonly Work[], current: StreamState): Round {
  const events: EventToAppend[] = [];
  const results: (readonly Settled<unknown>[])[] = [];
  let state = current.state;
  let bytes = 0;
  let onlyReplays = true;
  for (const work of works) {
    const decided = decideWork(lane, work, state, current.revision + 1 + events.length);
    // Nothing of it is kept: the next append decides it again.
    if (results.length > 0 && bytes + decided.bytes > MAX_BYTES_PER_APPEND) break;
    for (const event of decided.events) events.push(event);
    results.push(decided.results);
    state = decided.state;
    bytes += decided.bytes;
    onlyReplays &&= decided.onlyReplays;
  }
  return { works: works.slice(0, results.length), results, events, state, onlyReplays };
}

function decideWork(lane: Lane, work: Work, from: unknown, firstRevision: number): Decided {
  const events: StreamEvent[] = [];
  const results: Settled<unknown>[] = [];
  let state = from;
  let bytes = 0;
  let onlyReplays = true;
  for (const decide of work.decides) {
    try {
      const decision = decide(state);
      // Everything that can throw comes before any result of this command is kept.
      let next = state;
      for (const event of decision.events) next = lane.type.evolve(next, event);
      const appended = encode(lane, work, decision.events, firstRevision + events.length);
      state = next;
      for (const event of appended) {
        events.push(event);
        bytes += event.data.length + event.metadata.length;
      }
      onlyReplays &&= decision.replayed === true && decision.revocable !== true;
      results.push({
        status: 'decided',
        answer: decision.answer,
        replayed: decision.replayed === true,
        appended,
      });
    } catch (reason) {
      if (reason instanceof WholeStateNeeded) throw reason;
      onlyReplays = false;
      results.push({ status: 'refused', reason });
    }
  }
  return { results, events, bytes, state, onlyReplays };
}

function encode(
  lane: Lane,
  work: Work,
  events: readonly unknown[],
  firstRevision: number,
): readonly StreamEvent[] {
  const { context } = work;
  if (events.length === 0 || !context) return [];
  return events.map((event, index) => {
    const { type, data, schemaVersion } = lane.type.codec.encode(event);
    return {
      id: context.eventIds ? eventIdAt(context.eventIds, index) : randomUUID(),
      type,
      data,
      metadata: encodeMetadata(context.metadata, schemaVersion),
      stream: lane.stream,
      revision: firstRevision + index,
    };
  });
}
