/**
 * Where processors are scarce, an answer comes before everything else that this process does. Linux gives each thread a
 * niceness of its own; elsewhere it is the whole process's, and nothing is set. ADR 0060 and 0070.
 */
import { readdir, readFile } from 'node:fs/promises';
import { getPriority, setPriority } from 'node:os';

/** A third of the weight. */
const READER_NICER_BY = 5;
/** A tenth. */
const HELPERS_NICER_BY = 10;
const MOST_NICE = 19;
/** As Node calls the threads in which V8 marks the heap and compiles. */
const HELPER = 'V8Worker';

/** Called in the thread that reads the log. */
export function giveWay(): void {
  if (process.platform === 'linux') setPriority(nicerBy(READER_NICER_BY));
}

/** Called in the main thread, for V8's helpers: while one of them marks a heap, two cores have one for answers. */
export async function letHelpersGiveWay(): Promise<void> {
  if (process.platform !== 'linux') return;
  const niceness = nicerBy(HELPERS_NICER_BY);
  const threads = (await readdir('/proc/self/task').catch(ifGone)) ?? [];
  for (const thread of threads) {
    const name = await readFile(`/proc/self/task/${thread}/comm`, 'utf8').catch(ifGone);
    if (name?.trim() === HELPER) setPriority(Number(thread), niceness);
  }
}

/** Than the thread that asks. */
const nicerBy = (by: number): number => Math.min(getPriority() + by, MOST_NICE);

/** Threads other than helpers come and go, and a sandbox may have no `/proc`. */
function ifGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ESRCH') throw error;
}
