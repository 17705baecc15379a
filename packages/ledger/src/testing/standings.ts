/** Over HTTP, a suspension also ends sign-in sessions, which a world of the ledger does not have. */
import { createCommandHandler, ourLog } from '@coffer/event-store';
import { systemClock } from '@coffer/kernel';
import { patiently } from '@coffer/testing';
import { createUsers } from '@coffer/users';
import type { Ledger } from './useLedger.ts';

export async function setStanding(
  { world, app: { scopeId } }: Ledger,
  userId: string,
  change: 'suspend' | 'reinstate',
): Promise<void> {
  const store = ourLog(world.store);
  const users = createUsers({ handler: createCommandHandler({ store }), store, clock: systemClock });
  const context = { requestId: 'spec', actor: 'operator', deadlineMs: patiently() };
  await users[change]({ environment: 'test', scopeId, userId }, context);
}
