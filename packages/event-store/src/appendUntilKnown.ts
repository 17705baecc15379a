/** One append, retried until its outcome is known or nobody waits for it any longer. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  LogRewrittenError,
  OutcomeUnknownError,
  StoreAbsentError,
  StoreUnreachableError,
  WrongExpectedRevisionError,
} from './errors.ts';
import type { EventStore } from './port.ts';
import type { Round } from './round.ts';
import type { StreamState } from './streamState.ts';
import { advance, isInHand, type Lane, type Work } from './works.ts';

/**
 * `conflict`: another process was first. `rewritten`: the stream is not the one that was decided on. `unwritten`: nothing
 * was written, and some callers were told so. `timeUp`: every work was refused, or told that the outcome is unknown.
 */
export type AppendOutcome = 'accepted' | 'conflict' | 'rewritten' | 'unwritten' | 'timeUp';

export interface RoundAppend {
  readonly store: Pick<EventStore, 'append'>;
  readonly lane: Lane;
  readonly round: Round;
  /** The state that the round was decided on. */
  readonly current: StreamState;
  /** Answers a work whose time is up. */
  readonly refuse: (work: Work, reason: unknown) => void;
}

const RETRY_DELAYS_MS = [10, 50, 100, 250, 500];

/**
 * An unknown outcome is retried with the same events at the same revision, which the store recognizes; works whose time
 * is up meanwhile are told that it is unknown. Once a caller was told that nothing was written, its events are not sent
 * again. Throws what the store refuses for good.
 */
export async function appendUntilKnown(append: RoundAppend): Promise<AppendOutcome> {
  const { store, lane, round, current, refuse } = append;
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
      if (error instanceof LogRewrittenError) return 'rewritten';
      // Once an attempt may have been written, no later failure makes it unwritten.
      if (error instanceof OutcomeUnknownError) unknown = error;
      else if (!unknown && (error instanceof StoreAbsentError || !(error instanceof StoreUnreachableError))) {
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
