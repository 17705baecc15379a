/**
 * The thread that reads the log yields to all others for as long as it is up to date: what it does then nobody waits for by
 * the millisecond. Once it is behind, or says nothing, it has its share. ADR 0086.
 */
import { execFile } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { basename } from 'node:path';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import type { Logger } from '@coffer/http';
import { warnOfPriorities } from './niceness.ts';

/** In the main thread, and in the one that says whether it is. */
export const CHECK_EVERY_MS = 250;
const UP_TO_DATE_FOR_MS = 1_000;
/** A stop waits for it. */
const SET_WITHIN_MS = 5_000;
/**
 * After its start, and after it was behind, it keeps its share for the fewest. Where it falls behind again sooner than that, it
 * needs its share, and keeps it twice as long each time.
 */
const FEWEST_CHECKS = 40;
const MOST_CHECKS = 2_400;

/** `idle` (`SCHED_IDLE`): runs where no other thread wants to, and stops as soon as one does. `share`: by its niceness. */
export type Policy = 'idle' | 'share';

export interface Yielding {
  /** The thread is not behind. What starves does not say so. */
  readonly isUpToDate: () => void;
  /** To be called every `CHECK_EVERY_MS`. */
  readonly check: () => void;
  /** A stop waits for nobody: from here on the thread has its share. */
  readonly end: () => Promise<void>;
}

/**
 * While a thread that has given way says that it is not behind, it takes what others leave. Called in the main thread. Undefined
 * where the system would not let it have its share again.
 */
export function yieldWhileUpToDate({
  thread,
  setPolicy,
  nowMs,
  logger,
}: {
  readonly thread: number;
  readonly setPolicy: (thread: number, policy: Policy) => Promise<void>;
  readonly nowMs: () => number;
  readonly logger: Logger;
}): Yielding | undefined {
  if (process.platform !== 'linux' || !canTakeBack(thread)) return undefined;
  let policy: Policy = 'share';
  let changing: Promise<void> | undefined;
  let saidAtMs = nowMs();
  const keepsShare = shareKeeper();
  let isOver = false;
  const change = async (next: Policy) => {
    if (next === policy) return;
    try {
      await setPolicy(thread, next);
      policy = next;
    } catch (error) {
      // What could not give way has its share as before; what could not take it back tries again at each check.
      if (!isOver) warnOfPriorities(logger, error);
      isOver = true;
    }
  };
  return {
    isUpToDate() {
      saidAtMs = nowMs();
    },
    check() {
      const keeps = keepsShare(nowMs() - saidAtMs > UP_TO_DATE_FOR_MS);
      changing ??= change(isOver || keeps ? 'share' : 'idle').finally(() => {
        changing = undefined;
      });
    },
    async end() {
      await changing;
      await change('share');
    },
  };
}

function shareKeeper(): (isBehind: boolean) => boolean {
  let keepsFor = FEWEST_CHECKS;
  let left = keepsFor;
  let yielded = 0;
  return (isBehind) => {
    if (isBehind) {
      if (yielded > 0) keepsFor = yielded < keepsFor ? Math.min(2 * keepsFor, MOST_CHECKS) : FEWEST_CHECKS;
      left = keepsFor;
      yielded = 0;
    } else if (left > 0) {
      left -= 1;
    } else {
      yielded += 1;
    }
    return left > 0;
  };
}

/** Root can, and whoever has the limit for it (`RLIMIT_NICE`). Others are nicer by one from here on. */
function canTakeBack(thread: number): boolean {
  try {
    const share = getPriority(thread);
    setPriority(thread, share + 1);
    setPriority(thread, share);
    return true;
  } catch {
    return false;
  }
}

/** The same for the thread that says that it is up to date, from the first time on. */
export function openYielding(logger: Logger): {
  readonly isUpToDate: (thread: number) => void;
  readonly end: () => Promise<void>;
} {
  let isOpen = true;
  let yielding: Yielding | undefined;
  let checks: NodeJS.Timeout | undefined;
  return {
    isUpToDate(thread) {
      if (!isOpen) return;
      if (!checks) {
        const nowMs = () => performance.now();
        yielding = yieldWhileUpToDate({ thread, setPolicy, nowMs, logger });
        checks = setInterval(() => yielding?.check(), CHECK_EVERY_MS).unref();
      }
      yielding?.isUpToDate();
    },
    async end() {
      isOpen = false;
      clearInterval(checks);
      await yielding?.end();
    },
  };
}

/** As Linux calls the thread that asks; undefined in a sandbox without `/proc`. Read by one of libuv's, it would be the name of that one. */
export function thisThread(): number | undefined {
  try {
    return Number(basename(readlinkSync('/proc/thread-self')));
  } catch {
    return undefined;
  }
}

const execute = promisify(execFile);

/** Node sets no policies. The command is of util-linux; it inherits the policy of the thread that runs it. */
async function setPolicy(thread: number, policy: Policy): Promise<void> {
  const change = policy === 'idle' ? '-i' : '-o';
  await execute('chrt', [change, '-p', '0', String(thread)], { timeout: SET_WITHIN_MS });
}
