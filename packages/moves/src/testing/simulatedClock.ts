/** Time that a spec moves from one timer to the next, as fast as the work in between is done. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MonotonicClock } from '@coffer/consumers';

interface Timer {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

export interface SimulatedClock extends MonotonicClock {
  /** Lets time pass until the promise is settled. */
  readonly runUntil: <Value>(promise: Promise<Value>) => Promise<Value>;
}

/** Turns for the work that a timer starts; what takes longer ends at a later time, as in reality. */
const TURNS_PER_TIMER = 4;
/** A day: whoever waits longer waits for ever. */
const MOST_MS = 24 * 60 * 60 * 1000;
/** After this many turns without a timer, waiting is pointless. */
const MOST_IDLE_TURNS = 100_000;

export function simulatedClock(): SimulatedClock {
  const timers = new Set<Timer>();
  let now = 0;
  let count = 0;

  return {
    nowMs: () => now,
    after(delayMs, run) {
      const timer = { atMs: now + delayMs, order: count++, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async runUntil(promise) {
      let isSettled = false;
      const settle = () => {
        isSettled = true;
      };
      promise.then(settle, settle);
      const endsAtMs = now + MOST_MS;
      for (let idleTurns = 0; ; ) {
        for (let turn = 0; turn < TURNS_PER_TIMER; turn++) await nextTurn();
        if (isSettled) return promise;
        if (now > endsAtMs) throw new Error('A simulated day has passed and it is still not done.');
        idleTurns = runNext() ? 0 : idleTurns + TURNS_PER_TIMER;
        if (idleTurns > MOST_IDLE_TURNS) throw new Error('Nothing is left to happen, and it is not done.');
      }
    },
  };

  /** False if there is no timer. */
  function runNext(): boolean {
    const [next] = [...timers].sort((one, other) => one.atMs - other.atMs || one.order - other.order);
    if (!next) return false;
    timers.delete(next);
    now = Math.max(now, next.atMs);
    next.run();
    return true;
  }
}
