/** Run once before and after all specs. */
import { endEventStores, leftOut } from './eventStores.ts';
import { stopSharedServer } from './postgres.ts';

// Node comes here once nothing is left that keeps it alive, so a leak still shows as a run that does not end. Its own
// clean-up, which comes next, spins for ever over a connection to a server that was frozen.
process.once('beforeExit', () => process.exit());

/** Ends what the specs shared, so that the run can end by itself. */
export async function mochaGlobalTeardown(): Promise<void> {
  // Those of specs that failed before they could.
  await endEventStores();
  await stopSharedServer();
  for (const each of leftOut) process.stdout.write(`left out: ${each}\n`);
}
