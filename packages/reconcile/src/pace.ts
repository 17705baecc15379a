/** How a run that nobody waits for leaves the machine to those who play. ADR 0065. */
import { setTimeout as delay } from 'node:timers/promises';

export interface Pace {
  readonly isAwaited: () => Promise<boolean>;
  /** As the last rest found it; a run begins unhurried. */
  readonly isUnhurried: () => boolean;
  /** From then on it rests no longer than it works. */
  readonly isLate: () => boolean;
  /** After each part of the work; returns at once if somebody waits for it. Throws the signal's reason. */
  readonly rest: (signal: AbortSignal) => Promise<void>;
}

/** A sixth of the time is worked: beside 4,000 bets a second on two cores, 3,000 to 5,000 events a second. */
const REST_PER_WORK = 5;
/** From then on it rests the less, the longer it takes: it must reach the end of a log that grows faster than it goes. */
const FULL_REST_MS = 15 * 60 * 1000;
const LEAST_REST_PER_WORK = 1;

const restPerWorkAfter = (tookMs: number): number =>
  Math.max(LEAST_REST_PER_WORK, REST_PER_WORK * Math.min(1, FULL_REST_MS / tookMs));

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
  const restPerWork = () => restPerWorkAfter(nowMs() - begunMs);
  let isUnhurried = true;
  return {
    isAwaited,
    isUnhurried: () => isUnhurried,
    isLate: () => restPerWork() === LEAST_REST_PER_WORK,
    async rest(signal) {
      const workedMs = nowMs() - workedFromMs;
      const restMs = restPerWork() * workedMs;
      isUnhurried = !(await isAwaited());
      if (isUnhurried) await wait(restMs, signal);
      workedFromMs = nowMs();
    },
  };
}
