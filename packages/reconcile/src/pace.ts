/** How a run that nobody waits for leaves the machine to those who play. ADR 0065. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Pace as PaceOfProjections } from '@coffer/consumers';

/** Unhurried as the last rest found it, and at its beginning. A rest ends at once if somebody waits for the run. */
export interface Pace extends PaceOfProjections {
  readonly isAwaited: () => Promise<boolean>;
}

/** A sixth of the time is worked: beside 4,000 bets a second on two cores, 7,000 events a second. */
const REST_PER_WORK = 5;
/** Less work is not worth a rest. */
const LEAST_WORK_MS = 4;
/** How often a run that somebody waits for asks whether anybody still does. */
const ASKS_EVERY_MS = 100;
/** A run that has taken so long rests less: it must reach the end of a log that grows faster than that. */
const LATE_AFTER_MS = 15 * 60 * 1000;
const LATE_REST_PER_WORK = 1;
/** PostgreSQL ends a transaction that is idle for half a minute. */
const LONGEST_REST_MS = 10_000;

export interface PaceOptions {
  readonly isAwaited: Pace['isAwaited'];
  readonly nowMs?: () => number;
  readonly wait?: (forMs: number, signal: AbortSignal) => Promise<unknown>;
}

export function createPace({
  isAwaited,
  nowMs = () => performance.now(),
  wait = (forMs, signal) => delay(forMs, undefined, { signal }),
}: PaceOptions): Pace {
  const begunMs = nowMs();
  let workedFromMs = begunMs;
  let isUnhurried = true;
  return {
    isAwaited,
    isUnhurried: () => isUnhurried,
    async rest(signal) {
      signal.throwIfAborted();
      const workedMs = nowMs() - workedFromMs;
      if (workedMs < (isUnhurried ? LEAST_WORK_MS : ASKS_EVERY_MS)) return;
      const restPerWork = nowMs() - begunMs > LATE_AFTER_MS ? LATE_REST_PER_WORK : REST_PER_WORK;
      isUnhurried = !(await isAwaited());
      if (isUnhurried) await wait(Math.min(restPerWork * workedMs, LONGEST_REST_MS), signal);
      workedFromMs = nowMs();
    },
  };
}
