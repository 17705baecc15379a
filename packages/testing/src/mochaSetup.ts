/** Run once before and after all specs. */
import { stopSharedServer } from './postgres.ts';

/** Ends what the specs shared, so that the run can end by itself. */
export async function mochaGlobalTeardown(): Promise<void> {
  await stopSharedServer();
}
