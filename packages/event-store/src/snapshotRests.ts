/** The rests between the statements that write snapshots, which nobody waits for unless states find no room. ADR 0085. */
import { setTimeout as delay } from 'node:timers/promises';

export interface SnapshotRestsOptions {
  /** Room for states that wait. */
  readonly maximumBytes: number;
  readonly nowMs?: (() => number) | undefined;
  /** Neither keeps the process running nor, once the signal aborts, waits. */
  readonly pause?: ((delayMs: number, signal: AbortSignal) => Promise<void>) | undefined;
}

const AFTER_FAILURE_MS = 1_000;
/** For each millisecond of writing, where all room is free: many sessions that grow alike would hold up every answer. */
const REST_PER_WRITING = 9;
/** However long the database took. */
const MOST_REST_MS = 1_000;
/** Where so much of the room is taken, states are written one batch after the other: a small cache needs what is left. */
const PRESSING_SHARE = 1 / 8;

export function createSnapshotRests(options: SnapshotRestsOptions) {
  const { maximumBytes, nowMs = () => performance.now(), pause = unrefPause } = options;
  const pressingBytes = maximumBytes * PRESSING_SHARE;
  const ending = new AbortController();
  let resting = new AbortController();

  return {
    nowMs,

    /** The more waits, the shorter. */
    async afterWriting(writingMs: number, waitingBytes: number): Promise<void> {
      const free = 1 - waitingBytes / pressingBytes;
      if (free <= 0 || ending.signal.aborted) return;
      resting = new AbortController();
      await pause(Math.min(MOST_REST_MS, writingMs * REST_PER_WRITING * free), resting.signal);
    },

    afterFailure: () => pause(AFTER_FAILURE_MS, ending.signal),

    /** Now, which may end a rest. */
    sawWaiting(bytes: number): void {
      if (bytes > pressingBytes) resting.abort();
    },

    /** Before the process ends there are no more rests. */
    end(): void {
      ending.abort();
      resting.abort();
    },
  };
}

async function unrefPause(delayMs: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(delayMs, undefined, { ref: false, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
