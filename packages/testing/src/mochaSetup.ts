/** Run by mocha before and after its specs. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endEventStores, leftOut } from './eventStores.ts';
import { leakHooks } from './leaks.ts';
import { stopSharedServer } from './postgres.ts';

// The workers of a parallel run load mostly the same modules, and so do the processes that specs start.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'coffer-spec-compile-cache');

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
