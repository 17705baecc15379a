import { holdsEventFixtures } from '@coffer/testing';
import { CONFIRM_BY, POOL_ID } from '../testing/poolBuilders.ts';
import { confirmedBody, lockedBody, type PoolAnswer, refundedBody, settledBody } from './pool.answers.ts';
import type { PoolEvent } from './pool.events.ts';
import { type PoolCommand, pool } from './pool.ts';

function repeatOf(event: PoolEvent): PoolCommand {
  switch (event.type) {
    case 'StakeLocked':
      return { type: 'LockStake', ...event.data };
    case 'StakeConfirmed':
      return { type: 'ConfirmStake', betId: event.data.betId };
    case 'StakeReleased':
      return { type: 'ReleaseOverdue', at: CONFIRM_BY, olderThanSeconds: 0 };
    case 'PoolSettled': {
      const { currencyId, rake, payouts } = event.data;
      const named = payouts.map(([stake, payout]) => ({
        betId: `bet-${stake}`,
        userId: `usr_01jee1wzwqeh1rx3w2d3k4m5n${stake}`,
        payout,
      }));
      return { type: 'SettlePool', poolId: POOL_ID, currencyId, rake, payouts: named };
    }
    case 'PoolRefunded':
      return { type: 'RefundPool', poolId: POOL_ID, reason: event.data.reason };
  }
}

function textOf(answer: PoolAnswer): string {
  switch (answer.outcome) {
    case 'locked':
      return JSON.stringify(lockedBody(POOL_ID, answer));
    case 'confirmed':
      return JSON.stringify(confirmedBody(POOL_ID, answer));
    case 'settled':
      return JSON.stringify(settledBody(POOL_ID, answer));
    case 'refunded':
      return JSON.stringify(refundedBody(POOL_ID, answer));
    case 'released':
      // A repeat finds nothing left to release.
      return JSON.stringify({ released: answer.released });
    default:
      throw new Error(`a fixture is not answered with ${answer.outcome}`);
  }
}

describe('pool: fixtures', () =>
  holdsEventFixtures(pool, new URL('fixtures/', import.meta.url), { repeatOf, textOf }));
