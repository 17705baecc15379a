/**
 * Calls that are ended when their time is up. All are looked at together, several times a second: a timer for each took a
 * twentieth of the processor time that an HTTP request takes.
 */

export interface Timed {
  /** On the clock of `performance.now()`. */
  dueMs: number;
  /** Where it is among the others, for whoever counts the time. */
  place: number;
}

const LOOK_EVERY_MS = 100;

/** Calls whose time is up are told once, at the latest so much later. */
export function createOverruns<Call extends Timed>(onOverrun: (call: Call) => void) {
  const calls: Call[] = [];
  let looking: NodeJS.Timeout | undefined;

  function look(): void {
    const nowMs = performance.now();
    const overdue = calls.filter(({ dueMs }) => dueMs <= nowMs);
    for (const call of overdue) {
      call.dueMs = Number.POSITIVE_INFINITY;
      onOverrun(call);
    }
    if (calls.length > 0) return;
    clearInterval(looking);
    looking = undefined;
  }

  return {
    watch(call: Call): void {
      call.place = calls.length;
      calls.push(call);
      looking ??= setInterval(look, LOOK_EVERY_MS).unref();
    },
    /** Once. */
    leave(call: Call): void {
      const last = calls.pop();
      if (!last || last === call) return;
      calls[call.place] = last;
      last.place = call.place;
    },
  };
}
