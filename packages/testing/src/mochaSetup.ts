/** Run by mocha before and after its specs. */
import { COMPILE_CACHE } from './compileCache.ts';
import { endEventStores, leftOut } from './eventStores.ts';
import { leakHooks } from './leaks.ts';
import { memoryFolder } from './memoryFolder.ts';
import { stopSharedServer } from './postgres.ts';

// For the workers of a parallel run and the processes that specs start, too.
process.env.NODE_COMPILE_CACHE = COMPILE_CACHE;
const folder = process.env.TMPDIR ?? memoryFolder();
if (folder !== undefined) process.env.TMPDIR = folder;

export const mochaHooks = leakHooks();

/**
 * Ends what the specs shared, so that the run can end by itself. In a parallel run each worker has its own, which end
 * with it.
 */
export async function mochaGlobalTeardown(): Promise<void> {
  // Stores of specs that failed before they could end them.
  await endEventStores();
  await stopSharedServer();
  for (const each of leftOut) process.stdout.write(`left out: ${each}\n`);
  // Node's own clean-up spins for ever on a connection to a server that was frozen.
  process.once('beforeExit', () => process.exit());
}
