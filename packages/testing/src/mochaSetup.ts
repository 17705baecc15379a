/** Run once before and after all specs. */
import { stopSharedServer } from './postgres.ts';

// Node comes here once nothing is left that keeps it alive, so a leak still shows as a run that does not end. What it does
// next, letting go of its own handles, was seen to spin for ever after a whole run.
process.once('beforeExit', () => process.exit());

/** Ends what the specs shared, so that the run can end by itself. */
export async function mochaGlobalTeardown(): Promise<void> {
  await stopSharedServer();
}
