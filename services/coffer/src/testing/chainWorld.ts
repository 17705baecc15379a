/** The whole service on a chain of its own, in this process. */
import { type AppOnChain, type PlayerOnChain, startAppsOnChain } from '@coffer/treasury/testing';
import { createMasterKeys, parseMasterKeys } from '@coffer/wallets';
import { GEM, LAMPORTS_PER_SOL } from '@coffer/wallets/testing';
import { SPEC_MASTER_KEYS, startWorld, type WorldOptions } from './world.ts';

export { type AppOnChain, GEM, LAMPORTS_PER_SOL, type PlayerOnChain };
export type ServiceOnChain = Awaited<ReturnType<typeof startServiceOnChain>>;

export const startServiceOnChain = ({
  slotMs,
  ...options
}: Pick<WorldOptions, 'environment' | 'roles'> & { readonly slotMs?: number } = {}) =>
  startAppsOnChain((chains) => startWorld({ ...options, chains }), {
    masterKeys: createMasterKeys(parseMasterKeys(SPEC_MASTER_KEYS)),
    ...(slotMs !== undefined && { slotMs }),
  });
