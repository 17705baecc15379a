/** Pools: stakes of many players in escrow, settled or refunded by one decision. */
import { type Accounts, type HoldActs, settlesDue } from '@coffer/accounts';
import { defineContext, type Platform, someStream } from '@coffer/host';
import type { AppCaller } from '@coffer/http';
import type { AppDirectory } from '@coffer/portal';
import type { Users } from '@coffer/users';
import { pool } from './domain/pool.ts';
import { custodyErrors, reject } from './errors.ts';
import { operatorPoolEndpoints } from './operatorRoutes.ts';
import { createOverdueStakes, sweepOverdueStakes } from './overdueStakes.ts';
import { poolDues, stakeHoldAct } from './pool.reactions.ts';
import { createPoolReads } from './poolReads.ts';
import { poolPostings, poolsProjection } from './pools.projection.ts';
import { createPools } from './pools.ts';
import { poolReadEndpoints } from './readRoutes.ts';
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
  create({
    pool: db,
    store,
    handler,
    clock,
    failPoint,
    directory,
    users,
    accounts,
    holds,
    logger,
  }: CustodyNeeds) {
    const hasCurrency = async (appId: string, id: number) =>
      (await directory.currencyById(appId, id)) !== undefined;
    const pools = createPools({
      handler,
      store,
      clock,
      failPoint,
      accounts,
      users,
      hasCurrency,
      lockTimeoutSeconds: (appId, environment) =>
        directory.setting(appId, environment, 'custodyLockTimeoutSeconds'),
    });
    holds.register('stake', stakeHoldAct(pools));
    const overdue = createOverdueStakes({ db, store, clock, pools });
    const reads = createPoolReads({ db, store, handler, accounts, hasCurrency });
    const admit = async ({ appId, environment }: AppCaller) => {
      if (!(await directory.setting(appId, environment, 'poolEscrowEnabled')))
        throw reject('custody/not_found');
    };
    return {
      endpoints: [
        ...custodyEndpoints({ pools, overdue, admit }),
        ...poolReadEndpoints({ reads, admit }),
        ...operatorPoolEndpoints({ directory, pools, reads }),
      ],
      reactions: { holds: poolDues(pools).map(settlesDue) },
      workers: [{ role: 'process-manager', start: () => ({ stop: sweepOverdueStakes(overdue, logger) }) }],
    };
  },
});
