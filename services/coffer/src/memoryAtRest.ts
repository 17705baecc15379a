/**
 * What V8 keeps of a load for the next one is given back while a process rests: half of its memory. ADR 0066.
 */
import type { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';

/** Of a thread. */
export type EventLoop = Pick<typeof performance, 'eventLoopUtilization'>;

const CHECK_EVERY_MS = 1_000;
/** Longer than a lull in play: a heap that has just been made small takes most of a second to be as fast as before. */
const CHECKS_BEFORE = 60;
/** By then V8 has collected twice. Code that is loaded meanwhile is compiled anew: what is kept of it has other flags. */
const CHECKS_OF_REST = 60;
/** Well above that of a service of which nothing is asked. */
const MOST_AT_REST = 0.05;

/**
 * Until the process ends. With its flag V8 collects what it otherwise leaves for later, in small steps, and gives free pages
 * back to the system.
 */
export function giveMemoryBackAtRest(loops: readonly EventLoop[], checksBefore = CHECKS_BEFORE): void {
  const isResting = restOf(loops, checksBefore, CHECKS_OF_REST);
  let isTold = false;
  const check = () => {
    if (isResting() === isTold) return;
    isTold = !isTold;
    setFlagsFromString(isTold ? '--optimize-for-size' : '--no-optimize-for-size');
  };
  setInterval(check, CHECK_EVERY_MS).unref();
}

/** Gives a check, to be made at regular intervals: whether all loops have been idle for so many, and not for so many more. */
export function restOf(loops: readonly EventLoop[], before: number, rest: number): () => boolean {
  let last = loops.map((loop) => loop.eventLoopUtilization());
  let idleChecks = 0;
  return () => {
    const now = loops.map((loop) => loop.eventLoopUtilization());
    const isIdle = loops.every(
      (loop, at) => loop.eventLoopUtilization(now[at], last[at]).utilization < MOST_AT_REST,
    );
    last = now;
    idleChecks = isIdle ? idleChecks + 1 : 0;
    return idleChecks >= before && idleChecks < before + rest;
  };
}
