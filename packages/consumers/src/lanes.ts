/**
 * The pending causes of each target, oldest first: one act per target at a time, and a limited number of targets at a
 * time.
 *
 *  resting   its first cause is not due yet
 *  ready     its first cause is due, and waits for fewer targets in progress
 *  acting    its first cause is being acted on
 */
import assert from 'node:assert/strict';
import { transitionsOf } from '@coffer/kernel';
import type { MonotonicClock } from './monotonicClock.ts';
import type { PendingCause } from './pendingCauses.ts';

type LaneState = 'resting' | 'ready' | 'acting';

interface Lane {
  readonly target: string;
  readonly queue: PendingCause[];
  state: LaneState;
  cancelTimer: () => void;
}

const advance = transitionsOf<LaneState>('a lane', {
  resting: ['ready'],
  // Back to rest when its first cause is settled, or must wait after all.
  ready: ['acting', 'resting'],
  acting: ['resting'],
});

export function createLanes({
  parallelTargets,
  clock,
  signal,
  waitMsOf,
  act,
}: {
  readonly parallelTargets: number;
  readonly clock: MonotonicClock;
  /** After it aborts, no act begins. */
  readonly signal: AbortSignal;
  /** How long until the cause is due; undefined: not before `reschedule`. */
  readonly waitMsOf: (cause: PendingCause) => number | undefined;
  /** Never rejects. */
  readonly act: (cause: PendingCause) => Promise<void>;
}) {
  const lanes = new Map<string, Lane>();
  const ready = new Set<Lane>();
  const inFlight = new Set<Promise<void>>();

  signal.addEventListener('abort', () => {
    for (const lane of lanes.values()) lane.cancelTimer();
  });

  return {
    add(cause: PendingCause): void {
      const { target } = cause;
      const lane = lanes.get(target) ?? { target, queue: [], state: 'resting', cancelTimer: () => undefined };
      lanes.set(target, lane);
      lane.queue.push(cause);
      if (lane.queue.length === 1) schedule(lane);
    },

    /** Does nothing if it has left already. */
    remove(cause: PendingCause): void {
      const lane = lanes.get(cause.target);
      const index = lane?.queue.indexOf(cause) ?? -1;
      if (!lane || index < 0) return;
      lane.queue.splice(index, 1);
      if (index === 0) schedule(lane);
    },

    /** The results of `waitMsOf` for the first causes have changed. */
    reschedule(): void {
      for (const lane of [...lanes.values()]) schedule(lane);
    },

    /** Resolves when all running acts have ended. */
    async idle(): Promise<void> {
      await Promise.all(inFlight);
    },
  };

  function schedule(lane: Lane): void {
    // It is scheduled when its act has ended.
    if (lane.state === 'acting') return;
    lane.cancelTimer();
    if (ready.delete(lane)) advance(lane, 'resting');
    const [first] = lane.queue;
    if (!first) {
      lanes.delete(lane.target);
      return;
    }
    const waitMs = signal.aborted ? undefined : waitMsOf(first);
    if (waitMs === undefined) return;
    if (waitMs > 0) {
      lane.cancelTimer = clock.after(waitMs, () => schedule(lane));
      return;
    }
    advance(lane, 'ready');
    ready.add(lane);
    actOnReady();
  }

  function actOnReady(): void {
    for (const lane of ready) {
      if (signal.aborted || inFlight.size >= parallelTargets) return;
      ready.delete(lane);
      const [first] = lane.queue;
      assert(first, 'a lane that is ready has a cause');
      advance(lane, 'acting');
      const acting: Promise<void> = act(first).then(() => {
        inFlight.delete(acting);
        advance(lane, 'resting');
        schedule(lane);
        actOnReady();
      });
      inFlight.add(acting);
    }
  }
}
