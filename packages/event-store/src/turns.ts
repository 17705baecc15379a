/** Long work on the thread that answers requests, in turns. */
import { setImmediate as nextTurn } from 'node:timers/promises';

const TURN_MS = 2;

/** To be awaited after each part: where the turn was long enough, others get theirs. */
export function inTurns(): () => Promise<void> {
  let turnEnds = performance.now() + TURN_MS;
  return async () => {
    if (performance.now() < turnEnds) return;
    await nextTurn();
    turnEnds = performance.now() + TURN_MS;
  };
}
