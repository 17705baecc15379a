/** How a run that nobody waits for leaves the machine to those who play. ADR 0065. */
import { setTimeout as delay } from 'node:timers/promises';

export interface Pace {
  readonly isAwaited: () => Promise<boolean>;
  /** As the last rest found it; a run begins unhurried. */
  readonly isUnhurried: () => boolean;
  /** After each part of the work; returns at once if somebody waits for it. Throws the signal's reason. */
  readonly rest: (signal: AbortSignal) => Promise<void>;
}

/** A third of the time is worked: more than a busy machine's events take to be verified. */
const REST_PER_WORK = 2;
/** A run that has rested for so long goes on without: it must reach the end of a log that grows meanwhile. */
const RESTS_WITHIN_MS = 10 * 60 * 1000;

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
      const workedMs = nowMs() - workedFromMs;
      const isLate = nowMs() - begunMs > RESTS_WITHIN_MS;
      isUnhurried = !isLate && !(await isAwaited());
      if (isUnhurried) await wait(REST_PER_WORK * workedMs, signal);
      workedFromMs = nowMs();
    },
  };
}
