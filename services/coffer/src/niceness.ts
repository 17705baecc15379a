/**
 * Where processors are scarce, an answer comes before everything else that this process does. Linux gives each thread a
 * niceness of its own; elsewhere it is the whole process's, and nothing is set. A sandbox may forbid it: then all have the
 * same. ADR 0060 and 0070.
 */
import { readdir, readFile } from 'node:fs/promises';
import { getPriority, setPriority } from 'node:os';
import type { Logger } from '@coffer/http';

/** A third of the weight. */
const READER_NICER_BY = 5;
/** A tenth. */
const HELPERS_NICER_BY = 10;
const MOST_NICE = 19;
/** As Node calls the threads in which V8 marks the heap and compiles. */
const HELPER = 'V8Worker';
/** As `setPriority` calls the thread that asks. */
const THIS_THREAD = 0;

/** Called in the thread that reads the log. */
export function giveWay(logger: Logger): void {
  if (process.platform === 'linux') makeNicer([THIS_THREAD], READER_NICER_BY, logger);
}

/** Called in the main thread, for V8's helpers: while one of them marks a heap, two cores have one for answers. */
export async function letHelpersGiveWay(logger: Logger): Promise<void> {
  if (process.platform !== 'linux') return;
  const helpers: number[] = [];
  for (const thread of (await readdir('/proc/self/task').catch(ifGone)) ?? []) {
    const name = await readFile(`/proc/self/task/${thread}/comm`, 'utf8').catch(ifGone);
    if (name?.trim() === HELPER) helpers.push(Number(thread));
  }
  makeNicer(helpers, HELPERS_NICER_BY, logger);
}

/** Than the thread that asks. */
function makeNicer(threads: readonly number[], by: number, logger: Logger): void {
  try {
    const niceness = Math.min(getPriority() + by, MOST_NICE);
    for (const thread of threads) setPriority(thread, niceness);
  } catch (error) {
    warnOfPriorities(logger, error);
  }
}

export function warnOfPriorities(logger: Logger, error: unknown): void {
  logger.warn({ err: error }, 'priorities cannot be set: answers take longer where processors are scarce');
}

/** Threads other than helpers come and go, and a sandbox may have no `/proc`. */
function ifGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ESRCH') throw error;
}
