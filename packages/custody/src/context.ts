/** Pools: stakes of many players in escrow, settled or refunded by one decision. */
import { type Accounts, type HoldActs, settlesDue } from '@coffer/accounts';
import { defineContext, type Platform, someStream } from '@coffer/host';
import type { AppDirectory } from '@coffer/portal';
import type { Users } from '@coffer/users';
import { pool } from './domain/pool.ts';
import { custodyErrors } from './errors.ts';
import { poolDues, stakeHoldAct } from './pool.reactions.ts';
import { poolPostings, poolsProjection } from './pools.projection.ts';
import { createPools } from './pools.ts';
import { custodyEndpoints } from './routes.ts';

export interface CustodyNeeds extends Platform {
  readonly directory: AppDirectory;
  readonly users: Users;
  readonly accounts: Accounts;
  readonly holds: HoldActs;
}

export const custodyContext = defineContext({
  name: 'custody',
  errors: custodyErrors,
  streams: [someStream(pool)],
  projections: { pools: poolsProjection, poolPostings },
  create({ store, handler, clock, failPoint, directory, users, accounts, holds }: CustodyNeeds) {
    const pools = createPools({
      handler,
      store,
      clock,
      failPoint,
      accounts,
      users,
      hasCurrency: async (appId, id) => (await directory.currencyById(appId, id)) !== undefined,
      lockTimeoutSeconds: async (appId, environment) =>
        directory.setting(appId, environment, 'custodyLockTimeoutSeconds'),
    });
    holds.register('stake', stakeHoldAct(pools));
    return {
      endpoints: custodyEndpoints({
        pools,
        isEnabled: ({ appId, environment }) => directory.setting(appId, environment, 'poolEscrowEnabled'),
      }),
      reactions: { holds: poolDues(pools).map(settlesDue) },
    };
  },
});
